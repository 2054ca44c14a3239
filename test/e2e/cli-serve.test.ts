import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CliProcess } from '../support/cli-process.js';

const SELF_CALLING = join(import.meta.dirname, '../support/fixtures/cli-self-calling.js');
const SLOW_TO_MAKE = join(import.meta.dirname, '../support/fixtures/cli-slow-to-make.js');
const SERVE = ['serve', '--json', '--topic', 'demo', '--server', 's1'];

/** A server with a call to itself under way. */
async function serveBusy(...options: string[]): Promise<CliProcess> {
  const run = new CliProcess([...SERVE, '--endpoints', SELF_CALLING, ...options]);
  await run.message('running');
  return run;
}

describe('ebbgate serve', function () {
  this.timeout(30_000);

  it('says that it listens, drains at SIGTERM and exits with 0 when nothing runs (GS-69)', async () => {
    const run = new CliProcess([...SERVE, '--echo', '--ops-topic', 'demo-ops']);
    const listening = await run.event('listening');
    expect(listening['servers']).to.deep.equal([
      { role: 'new-request', topic: 'demo', server: 's1' },
      { role: 'ops', topic: 'demo-ops', server: 's1' },
    ]);
    run.child.kill('SIGTERM');
    const drained = await run.event('drained');
    expect(drained).to.include({ outcome: 'clean', exitCode: 0, left: 0, reason: 'SIGTERM' });
    expect(await run.ended).to.include({ code: 0, signal: null, stderr: '' });
  });

  it('answers the call that is under way when SIGTERM comes, and exits with 0 (RPC-07)', async () => {
    const run = await serveBusy();
    run.child.kill('SIGTERM');
    const draining = await run.event('draining');
    expect(draining['tasks']).to.have.nested.property('[0].name', 'slow');
    run.child.kill('SIGTERM'); // a further one changes nothing
    run.child.send('finish');
    expect(await run.message('answered')).to.equal('answered after the signal');
    const drained = await run.event('drained');
    expect(drained).to.include({ outcome: 'clean', handled: 1, completedInDrain: 1, left: 0 });
    expect((await run.ended).code).to.equal(0);
  });

  it('exits with 3 and names what was left when the time for tasks is over', async () => {
    const run = await serveBusy('--manager-shutdown-timeout', '0.1', '--closing-timeout', '0.1');
    run.child.kill('SIGTERM');
    const drained = await run.event('drained');
    expect(drained).to.include({ outcome: 'unfinished', exitCode: 3, left: 1 });
    expect(drained['unfinished']).to.have.nested.property('[0].name', 'slow');
    expect((await run.ended).code).to.equal(3);
  });

  it('ends at once with 130 when SIGINT comes while it drains', async () => {
    const run = await serveBusy();
    run.child.kill('SIGINT');
    await run.event('draining');
    run.child.kill('SIGINT');
    expect((await run.ended).code).to.equal(130);
  });

  it('is not ended by SIGHUP while its endpoints are made, nor later (GS-106, COMP-20)', async () => {
    const run = new CliProcess([...SERVE, '--endpoints', SLOW_TO_MAKE]);
    await run.message('making');
    run.child.kill('SIGHUP');
    run.child.send('finish');
    await run.event('listening');
    run.child.kill('SIGHUP');
    run.child.kill('SIGTERM');
    expect(await run.ended).to.include({ code: 0, signal: null });
  });

  it('goes on serving when nobody reads its output any more', async () => {
    const run = await serveBusy();
    run.child.stdout?.destroy();
    run.child.kill('SIGTERM');
    run.child.send('finish');
    expect(await run.message('answered')).to.equal('answered after the signal');
    expect((await run.ended).code).to.equal(0);
  });

  it('answers /livez and /readyz, and is not ready while it drains (GS-104)', async () => {
    const run = await serveBusy('--health', '0');
    const { health } = await run.event('listening');
    const status = async (path: string): Promise<number> => (await fetch(`${String(health)}${path}`)).status;
    expect(await status('/readyz')).to.equal(200);
    run.child.kill('SIGTERM');
    await run.event('draining');
    expect(await status('/readyz')).to.equal(503);
    expect(await status('/livez')).to.equal(200);
    run.child.send('finish');
    expect((await run.ended).code).to.equal(0);
  });

  it('tells people the same in lines', async () => {
    const run = new CliProcess(['serve', '--topic', 'demo', '--server', 's1', '--endpoints', SELF_CALLING]);
    await run.message('running');
    run.child.kill('SIGTERM');
    await run.line((line) => line.startsWith('draining (SIGTERM): 1 running (slow for '));
    run.child.send('finish');
    const { code, stdout } = await run.ended;
    expect(code).to.equal(0);
    expect(stdout).to.match(/^listening at memory:\/\/: topic demo, server s1\n/);
    expect(stdout).to.match(/task slow has ended after \d+ ms; 0 left\n/);
    expect(stdout).to.match(/\ndrained: clean, in \d+ ms; 1 requests handled, 0 left\n$/);
  });
});
