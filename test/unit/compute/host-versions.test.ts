import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ServiceRecord } from '@ebbgate/compute';
import { VersionCaps } from '#compute/rpc/version-caps.js';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred, rejectionOf } from '../../support/deferred.js';

describe('what is known of the versions of hosts', () => {
  /** Records that are read when they are asked for, and a clock that stands. */
  function caps(list: () => Promise<readonly ServiceRecord[]>) {
    const log = new CapturedLog();
    let now = 0;
    const known = new VersionCaps({ versionCap: 'auto', services: { list } }, log, () => now);
    const pass = (ms: number): void => {
      now += ms;
    };
    return { known, log, pass };
  }

  const record = (host: string, version: number): ServiceRecord => ({
    id: 1,
    uuid: host,
    binary: 'compute',
    host,
    state: 'running',
    reportedAtMs: 1,
    topic: 'compute',
    version,
    availabilityZone: null,
    startedAtMs: 1,
    disabled: false,
    disabledReason: null,
    forcedDown: false,
    forcedDownNote: null,
    epoch: 0,
    drain: null,
    reportCount: 1,
  });

  it('is read once for many messages, and again after a minute; for a host that is new, after a second', async () => {
    let reads = 0;
    let records = [record('a', 66)];
    const { known, pass } = caps(async () => {
      reads += 1;
      return records;
    });
    expect(await Promise.all([known.of('a'), known.of('a'), known.of('b')])).to.deep.equal([
      '6.2',
      '6.2',
      '6.2',
    ]);
    expect([await known.of('a'), reads]).to.deep.equal(['6.2', 1]);
    records = [record('a', 71), record('b', 71)];
    pass(900);
    expect([await known.of('b'), reads]).to.deep.equal(['6.2', 1]);
    pass(200);
    expect([await known.of('b'), reads]).to.deep.equal(['6.5', 2]);
    pass(59_000);
    expect([await known.of('a'), reads]).to.deep.equal(['6.5', 2]);
    pass(1_000);
    expect([await known.of('a'), reads]).to.deep.equal(['6.5', 3]);
  });

  it('stays what it was when the records cannot be read, with a warning; without any, sending fails', async () => {
    let broken = true;
    const { known, log, pass } = caps(async () => {
      if (broken) throw new Error('no conductor');
      return [record('a', 66)];
    });
    expect((await rejectionOf(Promise.resolve(known.of('a')))).message).to.equal('no conductor');
    broken = false;
    expect(await known.of('a')).to.equal('6.2');
    broken = true;
    pass(61_000);
    expect(await known.of('a')).to.equal('6.2');
    expect(log.at('warn').map(({ message }) => message)).to.deep.equal([
      'The versions of the hosts cannot be read; those known are used',
    ]);
  });

  it('is not what a reading says that a refresh has overtaken', async () => {
    const first = deferred<readonly ServiceRecord[]>();
    const answers = [first.promise, Promise.resolve([record('a', 71)])];
    const { known } = caps(() => answers.shift() ?? Promise.reject(new Error('asked too often')));
    const early = known.of('a');
    await known.refresh();
    expect(await known.of('a')).to.equal('6.5');
    first.resolve([record('a', 66)]);
    expect(await early).to.equal('6.2');
    expect(await known.of('a')).to.equal('6.5');
  });
});
