import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryRecords } from '#compute/db/memory-records.js';
import { HostChoice } from '#compute/conductor/host-choice.js';

const HOST = 'compute-a';

function cell(reportedAtMs: number): { records: MemoryRecords; report: () => Promise<unknown> } {
  const records = new MemoryRecords(() => undefined);
  const report = { binary: 'compute', host: HOST, state: 'running', reportedAtMs } as const;
  return { records, report: () => records.services.register(report) };
}

describe('the choice of hosts in a conductor', () => {
  it('takes the configured time after which a host is down (COMP-11)', async () => {
    const { records, report } = cell(0);
    await report();
    const at = (serviceDownTimeMs: number) => new HostChoice({ serviceDownTimeMs, now: () => 90_000 });
    expect(await at(60_000).takesRequests(records, HOST)).to.equal(false);
    expect(await at(120_000).takesRequests(records, HOST)).to.equal(true);
  });

  it('does not take a host for dead whose clock is wrong, once it has seen it report, in that cell only (FD-9)', async () => {
    const [first, second] = [cell(0), cell(0)];
    await Promise.all([first.report(), second.report()]);
    const hosts = new HostChoice({ now: () => 1_000_000 });
    expect(await hosts.takesRequests(first.records, HOST)).to.equal(false);
    await first.report();
    expect(await hosts.takesRequests(first.records, HOST)).to.equal(true);
    expect(await hosts.takesRequests(second.records, HOST)).to.equal(false);
  });
});
