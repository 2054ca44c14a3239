import assert from 'node:assert/strict';
import type { TransportOptions } from '@ebbgate/core';
import { type Case, type Group, type Need, test, testWith } from '../case.js';
import type { Lab } from '../lab.js';
import { later } from '../later.js';
import { bytesOf, numbered, textMessage, toReply, toTopic } from '../test-message.js';
import { failsWith } from '../traits.js';

/** What waits for the broker is bounded; beyond the bound a send fails at once, and what waits is not harmed. */
function backPressure(
  fault: 'stall' | 'faults',
  limit: string,
  options: TransportOptions,
  text: string,
): Case {
  const when = fault === 'stall' ? 'while the broker does not answer' : 'during an outage';
  const title = `sends ${when} are bounded by ${limit}: one more fails at once (AMQP-01, AMQP-31)`;
  return testWith([fault], title, async (lab) => {
    const receiver = await lab.transport();
    const sender = await lab.transport(options);
    const source = lab.source();
    await lab.declare(receiver, source);
    await (fault === 'stall' ? lab.stall() : lab.cut(sender, receiver));
    const texts = numbered(text, 4);
    const waiting = later(lab.sendAll(sender, toTopic(source), texts));
    const error = await failsWith(
      lab,
      'ERR_BACKPRESSURE',
      lab.send(sender, toTopic(source), `${text}-5`),
      'publish()',
    );
    assert.equal(error.outcome, 'not-sent');
    assert.equal(sender.pendingSends, 4);
    await (fault === 'stall' ? lab.resume() : lab.restore(sender, receiver));
    await waiting;
    assert.equal(sender.pendingSends, 0);
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.expectOnce(sender, [inbox], texts);
  });
}

/** So long, or as long as the driver takes. */
function bodyOf(lab: Lab, bytes: number): Buffer {
  return Buffer.alloc(Math.min(bytes, lab.features.maxMessageBytes), 'large ');
}

const MEGABYTE = 1024 ** 2;
const OVERSIZE: readonly Need[] = ['messageLimit'];

export const limits: Group = {
  name: 'limits',
  cases: [
    backPressure('stall', 'their number', { maxPendingSends: 4 }, 'm'),
    backPressure('stall', 'their bytes', { maxPendingBytes: 4 * 64 }, 'm'.repeat(60)),
    backPressure('faults', 'their number', { maxPendingSends: 4 }, 'm'),

    test('a message of 4 MiB arrives as it was sent (RPC-17)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      const body = bodyOf(lab, 4 * MEGABYTE);
      await lab.send(sender, toTopic(source), textMessage(body));
      const large = await inbox.next();
      assert.ok(bytesOf(large.message).equals(body));
      assert.equal(await large.accept(), true);
    }),

    test('a reply of 1 MiB arrives as it was sent (RPC-17)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const body = bodyOf(lab, MEGABYTE);
      let arrived: (bytes: Buffer) => void = () => undefined;
      const bytes = new Promise<Buffer>((resolve) => (arrived = resolve));
      const queue = await lab.until(
        receiver.openReplyQueue((message) => {
          arrived(bytesOf(message));
        }),
        'openReplyQueue()',
      );
      await lab.send(sender, toReply(queue.address), textMessage(body));
      assert.ok((await lab.until(bytes, 'the reply')).equals(body));
    }),

    testWith(
      OVERSIZE,
      'a message beyond maxMessageBytes is refused, and the next one is sent (RPC-17)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const source = lab.source();
        const inbox = await lab.listen(receiver, source);
        const body = Buffer.alloc(lab.features.maxMessageBytes + 1, 'x');
        const error = await failsWith(
          lab,
          'ERR_DELIVERY',
          lab.send(sender, toTopic(source), textMessage(body), { patient: false }),
          'publish()',
        );
        assert.equal(error.outcome, 'not-sent');
        await lab.send(sender, toTopic(source), 'small');
        assert.equal(await inbox.acceptNext(), 'small');
      },
    ),

    test('a credit of one lets a thousand messages through, each once (AMQP-36)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { credit: 1, settling: 'accept' });
      await lab.sendAll(sender, toTopic(source), numbered('m', 1000));
      await lab.expectOnce(sender, [inbox], numbered('m', 1000));
    }),

    test('fifty listeners work on one transport (AMQP-34)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const sources = Array.from({ length: 50 }, () => lab.source());
      const inboxes = await Promise.all(sources.map((source) => lab.listen(receiver, source)));
      await Promise.all(sources.map((source) => lab.send(sender, toTopic(source), source.server)));
      const texts = await Promise.all(inboxes.map((inbox) => inbox.acceptNext()));
      assert.deepEqual(
        texts,
        sources.map(({ server }) => server),
      );
    }),

    test('a listener without credit keeps no other from its messages (AMQP-36, RPC-18)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const [full, free] = [lab.source(), lab.source()];
      const stuck = await lab.listen(receiver, full, { credit: 1 });
      const inbox = await lab.listen(receiver, free, { settling: 'accept' });
      await lab.sendAll(sender, toTopic(full), numbered('stuck', 20));
      const held = await stuck.next();
      await lab.sendAll(sender, toTopic(free), numbered('free', 20));
      await lab.expectOnce(sender, [inbox], numbered('free', 20));
      assert.equal(await held.accept(), true);
    }),

    test('RPC: a thousand calls wait at the same time (RPC-06, RPC-07)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      await lab.serve(receiver, target, { echo: (_: unknown, { n }: { n: number }) => n });
      const client = lab.client(sender, target);
      const all = Array.from({ length: 1000 }, (_, n) => n);
      assert.deepEqual(
        await lab.until(Promise.all(all.map((n) => client.call({}, 'echo', { n }))), '1000 calls'),
        all,
      );
    }),

    test('RPC: large arguments and results go both ways (RPC-17)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      await lab.serve(receiver, target, { echo: (_: unknown, { text }: { text: string }) => text });
      const length = Math.min(MEGABYTE, lab.features.maxMessageBytes / 4);
      const text = 'ü'.repeat(length / 2);
      assert.equal(await lab.until(lab.client(sender, target).call({}, 'echo', { text }), 'a call'), text);
    }),

    testWith(
      OVERSIZE,
      'RPC: a result beyond maxMessageBytes is an error of the call, at once (RPC-17)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const target = lab.source();
        await lab.serve(receiver, target, {
          large: () => 'x'.repeat(lab.features.maxMessageBytes),
          small: () => 'small',
        });
        const client = lab.client(sender, target);
        await lab.until(assert.rejects(client.call({}, 'large')), 'the failure of a call');
        assert.equal(await lab.until(client.call({}, 'small'), 'a call'), 'small');
      },
    ),
  ],
};
