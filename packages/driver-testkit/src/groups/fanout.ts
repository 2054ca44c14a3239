import assert from 'node:assert/strict';
import { type Group, testWith } from '../case.js';
import { expectCount, expectRuns } from '../runs.js';
import { bodyMessage, numbered, ObjectBody, textOf, toFanout } from '../test-message.js';
import { failsWith } from '../traits.js';

export const fanout: Group = {
  name: 'fanout',
  cases: [
    testWith(['fanout'], 'a fanout reaches every server of the topic, once each (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const first = lab.source();
      const inboxes = [
        await lab.listen(receiver, first, { settling: 'accept' }),
        await lab.listen(receiver, lab.source({ ...first, server: lab.name('b') }), { settling: 'accept' }),
        await lab.listen(sender, lab.source({ ...first, server: lab.name('c') }), { settling: 'accept' }),
      ];
      await lab.sendAll(sender, toFanout(first), numbered('all', 10));
      for (const inbox of inboxes) await lab.expectOnce(sender, [inbox], numbered('all', 10));
    }),

    testWith(['fanout'], 'a fanout reaches no server of another topic (CORE-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const other = lab.source({ ...source, topic: lab.name('other') });
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      const elsewhere = await lab.listen(receiver, other, { settling: 'accept' });
      await lab.send(sender, toFanout(source), 'here');
      await lab.send(sender, toFanout(other), 'there');
      await lab.expectOnce(sender, [inbox], ['here']);
      await lab.expectOnce(sender, [elsewhere], ['there']);
    }),

    testWith(['fanout'], 'a fanout with nobody listening succeeds (AMQP-33)', async (lab) => {
      const transport = await lab.transport();
      await assert.doesNotReject(lab.send(transport, toFanout(lab.source()), 'for nobody'));
    }),

    testWith(['fanout'], 'a fanout does not wait for a server that is busy (AMQP-36)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const busy = await lab.listen(receiver, source, { credit: 1 });
      const idle = await lab.listen(receiver, lab.source({ ...source, server: lab.name('idle') }));
      await lab.sendAll(sender, toFanout(source), numbered('all', 5));
      const held = await busy.next();
      await idle.take(5);
      assert.equal(await held.accept(), true);
      for (let left = 4; left > 0; left -= 1) await busy.acceptNext();
    }),

    testWith(['fanout'], 'a fanout during a pause waits for its end (AMQP-24)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.until(inbox.listener.pause(), 'pause()');
      await lab.send(sender, toFanout(source), 'kept');
      await lab.until(inbox.listener.resume(), 'resume()');
      assert.equal(await inbox.acceptNext(), 'kept');
    }),

    testWith(['fanout'], 'a server that returns sees no fanout from before (AMQP-37)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      await lab.declare(receiver, source);
      await lab.send(sender, toFanout(source), 'missed');
      const inbox = await lab.listen(receiver, source, { settling: 'accept' });
      await lab.send(sender, toFanout(source), 'seen');
      await lab.expectOnce(sender, [inbox], ['seen']);
    }),

    testWith(
      ['fanout', 'release'],
      'a released fanout comes back to the same server, and to no other (AMQP-29)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const source = lab.source();
        const inbox = await lab.listen(receiver, source);
        const sibling = await lab.listen(receiver, lab.source({ ...source, server: lab.name('b') }), {
          settling: 'accept',
        });
        await lab.send(sender, toFanout(source), 'again');
        (await inbox.next()).release();
        assert.equal(await inbox.acceptNext(), 'again');
        await lab.expectOnce(sender, [sibling], ['again']);
      },
    ),

    testWith(['fanout'], 'receivers of a fanout share no object (CORE-06)', async (lab) => {
      const transport = await lab.transport();
      const source = lab.source();
      const inboxes = [
        await lab.listen(transport, source),
        await lab.listen(transport, lab.source({ ...source, server: lab.name('b') })),
      ];
      const body = new ObjectBody([1]);
      await lab.send(transport, toFanout(source), bodyMessage(body));
      const seen: unknown[] = [];
      for (const inbox of inboxes) {
        const { message } = await inbox.next();
        assert.equal(textOf(message), '{"list":[1]}');
        if (message.body.local !== undefined) seen.push(message.body.local);
      }
      assert.equal(new Set(seen).size, seen.length, 'two receivers have the same object');
      assert.ok(
        seen.length < 2 || !seen.includes(body.local),
        'a receiver has the object of the sender, and a sibling too',
      );
    }),

    testWith(
      ['fanout'],
      'RPC: a fanout cast runs on every server, each with arguments of its own (CORE-06, RPC-09)',
      async (lab) => {
        const transport = await lab.transport();
        const target = lab.source();
        const runs: number[][] = [];
        const push = (_: unknown, { list }: { list: number[] }): void => {
          list.push(list.length);
          runs.push(list);
        };
        for (const server of ['a', 'b', 'c'])
          await lab.serve(transport, { ...target, server }, { push, ping: () => runs.length });
        const client = lab.client(transport, target);
        const list: number[] = [];
        await lab.until(client.prepare({ fanout: true }).cast({}, 'push', { list }), 'cast()');
        await lab.repeat(
          () => client.call({}, 'ping'),
          (count) => Number(count) >= 3,
          'three runs',
        );
        expectRuns(lab, runs, [[0], [0], [0]]);
        assert.deepEqual(list, []);
      },
    ),

    testWith(
      ['fanout'],
      'RPC: a call to all servers is refused before anything is sent (RPC-10)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const target = lab.source();
        let runs = 0;
        await lab.serve(receiver, target, { count: () => (runs += 1) });
        const client = lab.client(sender, target);
        await failsWith(
          lab,
          'ERR_INVALID_TARGET',
          client.prepare({ fanout: true }).call({}, 'count'),
          'call()',
        );
        expectCount(lab, await lab.until(client.call({}, 'count'), 'a call'), 1, 'runs');
      },
    ),
  ],
};
