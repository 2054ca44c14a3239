import assert from 'node:assert/strict';
import { type Group, test, testWith } from '../case.js';
import { Gate } from '../gate.js';
import { later } from '../later.js';
import { expectCount, expectRuns } from '../runs.js';
import { toFanout } from '../test-message.js';

export const serverLifecycle: Group = {
  name: 'server lifecycle',
  cases: [
    test('RPC: what runs at stop() is finished and answered before wait() resolves (CORE-03)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      const gate = new Gate();
      const entered = new Gate();
      const hold = async (): Promise<string> => {
        entered.open();
        await gate.opened;
        return 'finished';
      };
      const server = await lab.serve(receiver, target, { hold });
      const answer = later(lab.client(sender, target).call({}, 'hold'));
      await lab.until(entered.opened, 'the handler to run');
      await lab.until(server.stop(), 'stop()');
      let over = false;
      const waited = server.wait().then((report) => {
        over = true;
        return report;
      });
      await lab.roundTrips(receiver);
      assert.equal(over, false);
      gate.open();
      assert.deepEqual(await lab.until(waited, 'wait()'), { unconfirmed: [] });
      await lab.until(receiver.close(), 'close()');
      assert.equal(await lab.until(answer, 'the answer'), 'finished');
    }),

    test('RPC: stop() ends under a stream of messages, and a restart serves the rest, each once (CORE-04, AMQP-38)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      const seen: number[] = [];
      const some = new Gate();
      const note = (_: unknown, { n }: { n: number }): void => {
        seen.push(n);
        if (seen.length === 20) some.open();
      };
      const server = await lab.serve(
        receiver,
        target,
        { note, count: () => new Set(seen).size },
        { slots: 4, prefetch: 4 },
      );
      const client = lab.client(sender, target);
      const casts = Array.from({ length: 200 }, (_, n) => later(client.cast({}, 'note', { n })));
      await lab.until(some.opened, 'some casts to run');
      await lab.until(server.stop(), 'stop()');
      await lab.until(server.wait(), 'wait()');
      const ran = seen.length;
      await lab.until(Promise.all(casts), '200 casts');
      await lab.roundTrips(receiver);
      assert.equal(seen.length, ran, 'a handler ran after wait()');
      await lab.until(server.start(), 'start()');
      await lab.repeat(
        () => client.call({}, 'count'),
        (count) => count === 200,
        '200 runs',
      );
      expectRuns(
        lab,
        seen,
        Array.from({ length: 200 }, (_, n) => n),
      );
    }),

    testWith(
      ['release'],
      "RPC: with fetched: 'release' what has no slot yet goes to a sibling (AMQP-39)",
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const target = lab.source();
        const gate = new Gate();
        lab.onEnd(() => {
          gate.open();
        });
        const endpoint = (name: string, wait: Promise<void>): object => ({
          hold: () => wait.then(() => name),
        });
        const busy = await lab.serve(receiver, target, endpoint('busy', gate.opened), {
          slots: 1,
          prefetch: 4,
          fetched: 'release',
        });
        const client = lab.client(sender, target);
        const calls = Array.from({ length: 4 }, () => later(client.call({}, 'hold')));
        await lab.repeat(
          () => lab.roundTrips(sender),
          () => busy.waiting === 3,
          'three calls to wait for a slot',
        );
        await lab.serve(
          receiver,
          { ...target, server: lab.name('sibling') },
          endpoint('sibling', Promise.resolve()),
        );
        await lab.until(busy.stop(), 'stop()');
        gate.open();
        const names = await lab.until(Promise.all(calls), 'the calls');
        assert.deepEqual([...names].sort(), ['busy', 'sibling', 'sibling', 'sibling']);
      },
    ),

    testWith(
      ['fanout'],
      'RPC: starting a server again does not pile up its private queues (AMQP-37)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const target = lab.source();
        let runs = 0;
        const server = await lab.serve(receiver, target, { count: () => (runs += 1), runs: () => runs });
        for (let turn = 0; turn < 3; turn += 1) {
          await lab.until(server.stop(), 'stop()');
          await lab.until(server.wait(), 'wait()');
          await lab.send(sender, toFanout(target), '{}');
          await lab.until(server.start(), 'start()');
        }
        const client = lab.client(sender, target);
        await lab.until(client.prepare({ fanout: true }).cast({}, 'count'), 'cast()');
        await lab.repeat(
          () => client.call({}, 'runs'),
          (count) => count !== 0,
          'a run',
        );
        expectCount(lab, runs, 1, 'runs');
        assert.equal(server.counts.malformed, 0);
      },
    ),
  ],
};
