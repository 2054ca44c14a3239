import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { RandomFaults } from '../support/rigs/random-faults.js';
import { source } from './bed.js';
import { RedisBed } from './redis-bed.js';
import { Traffic } from './traffic.js';

const WAIT_MS = 30_000;
const CALL_MS = 3_000;
const FAULTS = 60;

describe('links to Redis that fail at random throughout', function () {
  this.timeout(120_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  it('let every call and cast settle truly: what was confirmed runs, nothing runs twice on one server, and nothing is left (AMQP-02, AMQP-03, REDIS-09, REDIS-11, AMQP-29, REDIS-04)', async () => {
    const where = source();
    const [one, another] = [new Map<string, number>(), new Map<string, number>()];
    const ran = new Map<string, number>();
    const endpoint = (own: Map<string, number>) => ({
      work: (_context: unknown, { id }: { id: string }): string => {
        own.set(id, (own.get(id) ?? 0) + 1);
        ran.set(id, (ran.get(id) ?? 0) + 1);
        return id;
      },
    });
    const all: Transport[] = [];
    for (let n = 0; n < 4; n += 1) all.push(await bed.connected(bed.url));
    const [first, second, ...callers] = all;
    if (!first || !second) throw new Error('There are four');
    const servers = [
      await bed.serve(first, where, endpoint(one), { duplicateWindow: 100_000 }),
      await bed.serve(second, { ...where, server: `${where.server}-2` }, endpoint(another), {
        duplicateWindow: 100_000,
      }),
    ];
    const going = callers.map(
      (caller) => new Traffic(bed.client(caller, where, { timeoutMs: CALL_MS }), ran),
    );
    for (const each of going) bed.onEnd(() => each.stop());
    const faults = new RandomFaults(bed.proxy, { everyMs: 120, lastMs: 150 });
    await eventually(`many faults (seed ${String(faults.seed)})`, WAIT_MS, () => faults.struck >= FAULTS);
    await faults.stop();
    const told = `seed ${String(faults.seed)}: ${faults.done.join('; ')}`;
    await bed.whole(...all);
    for (const each of going) await each.goesOn(`calls afterwards (${told})`, WAIT_MS);
    for (const each of going) await each.end(CALL_MS + WAIT_MS);
    await eventually(`every confirmed cast to run (${told})`, WAIT_MS, () =>
      going.every(({ missing }) => missing.length === 0),
    );
    for (const each of going) expect(each.wrong, told).to.deep.equal([]);
    for (const own of [one, another])
      expect(
        [...own].filter(([, times]) => times > 1),
        told,
      ).to.deep.equal([]);
    for (const server of servers) {
      await server.stop();
      expect((await server.wait()).unconfirmed, told).to.deep.equal([]);
    }
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    for (const transport of all) await transport.close();
    expect(await bed.view.pending()).to.equal(0);
    await eventually('no connection', WAIT_MS, async () => (await bed.view.clients()).length === 0);
  });
});
