import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ManyMigrations } from '../../support/many-migrations.js';
import { withCloud } from './test-cloud.js';

const HOSTS = ['compute-a', 'compute-b', 'compute-c', 'compute-d', 'compute-e', 'compute-f'];
const COUNT = 40;
const TWENTY = Array.from({ length: 20 }, (_, index) => `compute-${String(index + 1)}`);

describe('many live migrations at once', function () {
  this.timeout(20_000);

  for (const seed of [1, 2, 3]) {
    it(`40 between 6 hosts complete, none lost, none doubled, with the right allocations (order ${seed}) (GS-3, GS-100)`, () =>
      withCloud(
        { hosts: HOSTS, maxConcurrentLiveMigrations: 4, conductors: 2, schedulers: 2 },
        async (test) => {
          const run = new ManyMigrations(test.cloud, { count: COUNT, seed });
          await run.boot();
          await run.ask();
          await run.whenOver();
          expect(await run.problems()).to.deep.equal([]);
          expect(run.completed).to.equal(COUNT);
        },
      ));
  }

  it('200 between 20 hosts complete, none lost, none doubled, with the right allocations (GS-3, GS-100)', () =>
    withCloud(
      { hosts: TWENTY, maxConcurrentLiveMigrations: 4, conductors: 2, schedulers: 2 },
      async (test) => {
        const run = new ManyMigrations(test.cloud, { count: 200, seed: 7 });
        await run.boot();
        await run.ask();
        await run.whenOver();
        expect(await run.problems()).to.deep.equal([]);
        expect(run.completed).to.equal(200);
      },
    ));

  for (const seed of [4, 5, 6]) {
    it(`none is lost or doubled when two of the hosts drain in the middle, and each can be moved afterwards (order ${seed}) (GS-1, GS-3, GS-100)`, () =>
      withCloud({ hosts: HOSTS, migrationMs: 40, rpcTimeoutMs: 1500 }, async (test) => {
        const run = new ManyMigrations(test.cloud, { count: COUNT, seed });
        await run.boot();
        await run.ask(COUNT / 2);
        await run.whenCompleted(2);
        const drains = await Promise.all(HOSTS.slice(0, 2).map((host) => test.terminate(host)));
        await run.ask();
        for (const { ended } of drains) {
          const { code, report } = await ended;
          expect([code, report.unfinished]).to.deep.equal([0, []]);
        }
        await run.whenOver();
        expect(await run.problems()).to.deep.equal([]);

        for (const host of HOSTS.slice(0, 2)) await test.cloud.host(host).start();
        const before = run.completed;
        expect(before).to.be.within(COUNT / 4, COUNT - 1);
        expect(await run.askAgain()).to.equal(COUNT - before);
        await run.whenOver();
        expect(await run.problems()).to.deep.equal([]);
        expect(run.completed).to.equal(COUNT);
      }));
  }
});
