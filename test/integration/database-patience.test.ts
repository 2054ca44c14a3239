import { expect } from 'chai';
import { describe, it } from 'mocha';
import { waitForRecords } from '#compute/db/open-records.js';
import { LimitedPatience, StartPatience } from '#compute/db/sql/patience.js';
import { CapturedLog } from '../support/captured-log.js';
import { failureOf } from '../support/records/contract.js';

/** A start that waits, by a clock of the test. */
function waiting(busyMs = 1000) {
  const log = new CapturedLog();
  const clock = { ms: 0 };
  const patience = new StartPatience({
    label: 'postgresql://h/nova',
    logger: log,
    busyMs,
    now: () => clock.ms,
  });
  return { log, clock, patience };
}

describe('how often a database is tried again', () => {
  it('at a start that waits for it: for ever, twice as long before each try, at most 10 s (COMP-08)', () => {
    const { patience } = waiting();
    const waits = Array.from({ length: 9 }, () => patience.nextMs('away'));
    expect(waits).to.deep.equal([300, 600, 1200, 2400, 4800, 9600, 10_000, 10_000, 10_000]);
  });

  it('tells every five minutes that a start still waits, and names the database (COMP-08)', () => {
    const { log, clock, patience } = waiting();
    for (; clock.ms <= 900_000; clock.ms += 10_000) patience.nextMs('away');
    const told = log.at('warn').map(({ fields, message }) => [fields, message]);
    const line = (waitedMs: number) => [
      { database: 'postgresql://h/nova', waitedMs },
      'The start still waits for the database',
    ];
    expect(told).to.deep.equal([line(300_000), line(600_000), line(900_000)]);
    expect(log.lines).to.have.length(3);
  });

  it('while others are at it, for a limited time, which begins anew when it was away (COMP-08)', () => {
    expect(waiting(0).patience.nextMs('busy')).to.equal(undefined);
    const { patience } = waiting();
    expect(patience.nextMs('busy')).to.be.within(1, 15);
    patience.nextMs('away');
    expect(patience.nextMs('busy')).to.be.within(1, 15);
  });

  it('by all else: until a limit', () => {
    expect(new LimitedPatience(60_000).nextMs('away')).to.equal(300);
    expect(new LimitedPatience(60_000).nextMs('busy')).to.equal(15);
    expect(new LimitedPatience(0).nextMs('away')).to.equal(undefined);
  });

  it('never, when it cannot be used: a start ends with what is wrong (COMP-08)', async () => {
    const log = new CapturedLog();
    expect(await failureOf(waitForRecords('nowhere:', log))).to.have.property('code', 'ERR_CONFIGURATION');
    const error = await failureOf(waitForRecords('sqlite:////no/such/folder/nova.sqlite', log));
    expect(error).to.have.property('code', 'ERR_CONFIGURATION');
    expect(log.lines).to.deep.equal([]);
  });
});
