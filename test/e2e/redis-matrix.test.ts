import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { onRedis } from '../matrix/process/broker.js';
import { failureOf } from '../matrix/process/failure.js';
import type { MatrixCase, MatrixResult } from '../matrix/process/matrix-case.js';
import { MatrixRunner } from '../matrix/process/runner.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';
import { TwoCells } from '../support/two-cells.js';

const redis = await sharedRedis();
/** A run of each kind, in the middle of it; `npm run matrix -- --processes --transport redis` does all that RabbitMQ has. */
const CASES: readonly MatrixCase[] = [
  { flow: 'boot', party: 'conductor', way: 'KILL', step: 2, opsServer: true },
  { flow: 'live-migration', party: 'destination', way: 'TERM', step: 9, opsServer: true },
  { flow: 'cold-migration', party: 'both', way: 'TERM', step: 12, opsServer: true },
  { flow: 'resize', party: 'source', way: 'TERM', step: 8, opsServer: true },
  { flow: 'revert', party: 'destination', way: 'TERM', step: 4, opsServer: true },
  { flow: 'rebuild', party: 'source', way: 'KILL', step: 5, opsServer: true },
  { flow: 'evacuate', party: 'destination', way: 'TERM', step: 7, opsServer: true },
];

describe('a flow of each kind, with SIGTERM or kill -9 in the middle of it, each service a process on Redis', function () {
  this.timeout(240_000);
  const runner = new MatrixRunner(onRedis(redis), { opsServer: true, lanes: 1 });
  let results: readonly MatrixResult[] = [];

  before(async () => {
    results = await runner.run(CASES);
  });

  after(() => runner.dispose());

  for (const [index, { flow, party, way }] of CASES.entries()) {
    it(`loses nothing of ${flow} when the ${party} gets SIG${way} (COMP-07, GS-2, GS-5, GS-6, GS-8)`, () => {
      const result = results[index];
      if (!result) throw new RangeError(`${flow} was not tried`);
      expect(result.message, 'it was over before').to.not.equal(null);
      if (result.problems.length > 0) expect.fail(`\n${failureOf(result)}`);
    });
  }
});

describe('two cells on Redis, each service a process', function () {
  this.timeout(120_000);
  let site: TwoCells;

  before(async () => {
    site = await TwoCells.start([redis.url('key_prefix=cell1'), redis.url('key_prefix=cell2')]);
  });

  after(() => site.dispose());

  it('move an instance from one to the other while its host drains, which ends with what had begun complete (GS-2, GS-5, GS-52, GS-57)', async () => {
    const uuid = await site.boot('vm1');
    const source = site.daemons.get('a');
    if (!source) throw new TypeError('It was started');
    const resized = site.all.ok('instance', 'resize', 'vm1', '--flavor', 'm1.medium', '--wait');
    await source.event(
      (event) => event.kind === 'request' && event.method === 'prep_snapshot_based_resize_at_source',
    );
    source.child.kill('SIGTERM');
    expect(await source.ended, source.log).to.deep.equal({ code: 0, signal: null });
    expect(await resized).to.contain('vm1: migration a -> b finished\n');
    expect(site.machines.locate(uuid)).to.deep.equal(['b']);
  });
});
