import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { type AmqpEvent, AmqpPeer } from '../support/rigs/amqp-peer.js';
import { Bed, failure, send, source, toTopic } from './bed.js';

/** What a broker says of a message. */
interface Verdict {
  readonly deliveryTag: number;
  readonly multiple?: boolean;
  readonly name?: 'basic.ack' | 'basic.nack';
}

describe('what a broker says of messages', function () {
  this.timeout(15_000);
  let peer: AmqpPeer;
  let bed: Bed;
  let transport: Transport;
  const where = source();

  beforeEach(async () => {
    peer = await AmqpPeer.start();
    bed = new Bed();
    transport = await bed.connected(peer.url());
  });

  afterEach(async () => {
    await bed.end();
    await peer.close();
  });

  const say = ({ connection, channel }: AmqpEvent, ...verdicts: readonly Verdict[]): void => {
    connection.cork();
    for (const { name = 'basic.ack', ...args } of verdicts) connection.send(channel, name, { ...args });
    connection.uncork();
  };

  /** Sends so many without an answer; resolves when the broker has all of them. */
  async function sendUnanswered(count: number): Promise<{ sends: Promise<void>[]; last: AmqpEvent }> {
    const end = peer.script('basic.publish', () => {});
    const sends = Array.from({ length: count }, (_none, n) => send(transport, toTopic(where), String(n)));
    for (const each of sends) each.catch(() => undefined);
    let last = await peer.next('basic.publish');
    for (let n = 1; n < count; n += 1) last = await peer.next('basic.publish');
    end();
    return { sends, last };
  }

  const strange: readonly (readonly [what: string, after: readonly Verdict[], verdict: Verdict])[] = [
    ['of one that was confirmed', [{ deliveryTag: 1 }], { deliveryTag: 1 }],
    ['of one that was confirmed out of order', [{ deliveryTag: 2 }], { deliveryTag: 2 }],
    ['of one that was confirmed with others', [{ deliveryTag: 2, multiple: true }], { deliveryTag: 1 }],
    ['of many that were confirmed', [{ deliveryTag: 2, multiple: true }], { deliveryTag: 1, multiple: true }],
    ['of as many again', [{ deliveryTag: 2, multiple: true }], { deliveryTag: 2, multiple: true }],
    ['that is a nack after an ack', [{ deliveryTag: 1 }], { deliveryTag: 1, name: 'basic.nack' }],
    ['of one that was never sent', [], { deliveryTag: 4 }],
    ['of many of which one was never sent', [], { deliveryTag: 4, multiple: true }],
    ['of the number 0', [], { deliveryTag: 0 }],
    ['of all up to the number 0', [], { deliveryTag: 0, multiple: true }],
  ];
  for (const [what, after, verdict] of strange) {
    it(`a confirm ${what}: gives up that channel, outcome unknown, and confirms nothing else (AMQP-02, AMQP-04)`, async () => {
      const { sends, last } = await sendUnanswered(3);
      say(last, ...after, verdict, { deliveryTag: 3 }); // the last is to be believed no more
      const [third] = await Promise.all(sends.slice(2).map(failure));
      expect([third?.code, third?.outcome]).to.deep.equal(['ERR_DELIVERY', 'unknown']);
      expect(third?.message).to.match(/is confirmed already|was never sent/);
      const confirmed = new Set<number>();
      for (const { deliveryTag, multiple } of after)
        for (let tag = multiple ? 1 : deliveryTag; tag <= deliveryTag; tag += 1) confirmed.add(tag);
      const outcomes = await Promise.allSettled(sends.slice(0, 2));
      expect(outcomes.map(({ status }) => status)).to.deep.equal(
        [1, 2].map((tag) => (confirmed.has(tag) ? 'fulfilled' : 'rejected')),
      );
      await send(transport, toTopic(where), 'on another channel');
      expect(peer.received('confirm.select')).to.have.length(2);
      expect(peer.connections).to.have.length(2);
      expect(bed.log.ordinaryText()).to.match(/is confirmed already|was never sent/);
    });
  }

  it('one in the packet of confirm.select-ok: gives up that channel before anything is sent on it (AMQP-02, AMQP-04)', async () => {
    for (const verdict of [{ deliveryTag: 1 }, { deliveryTag: 9, multiple: true }]) {
      const before = peer.received('basic.publish').length;
      peer.scriptOnce('confirm.select', (event) => {
        event.connection.cork();
        event.connection.answer(event);
        event.connection.send(event.channel, 'basic.ack', verdict);
        event.connection.uncork();
      });
      const own = await bed.connected(peer.url());
      await send(own, toTopic(where), 'x');
      expect(peer.received('basic.publish').length - before).to.equal(1);
    }
    expect(peer.connections).to.have.length(2 + 4);
  });

  it('true ones in any order confirm each message as its own, with none left over (AMQP-02)', async () => {
    const { sends, last } = await sendUnanswered(6);
    // 4 alone, then all up to 3: 4 is confirmed and not to come again.
    say(last, { deliveryTag: 2 }, { deliveryTag: 4 }, { deliveryTag: 3, multiple: true }, { deliveryTag: 6 });
    await Promise.all([...sends.slice(0, 4), sends[5]]);
    for (let n = 0; n < 3; n += 1) await send(transport, toTopic(where), 'x');
    expect(peer.received('confirm.select')).to.have.length(1);
    say(last, { deliveryTag: 5, name: 'basic.nack' });
    expect((await failure(sends[4] ?? Promise.resolve())).outcome).to.equal('not-sent');
  });

  it('a refusal: what is sent from then on has another channel, what is under way keeps its own, which is closed then (AMQP-02)', async () => {
    const { sends, last } = await sendUnanswered(2);
    say(last, { deliveryTag: 1, name: 'basic.nack' });
    const refused = await failure(sends[0] ?? Promise.resolve());
    expect([refused.code, refused.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
    await send(transport, toTopic(where), 'on another channel');
    const channels = new Set(peer.received('basic.publish').map(({ channel }) => channel));
    expect(channels.size).to.equal(2);
    expect(peer.received('channel.close')).to.have.length(0);
    say(last, { deliveryTag: 2 });
    await sends[1];
    expect((await peer.next('channel.close')).channel).to.equal(last.channel);
    expect(bed.log.ordinaryText()).to.not.match(/channel/);
  });

  it('many refusals do not open a channel each (AMQP-02, AMQP-36)', async () => {
    const end = peer.script('basic.publish', (event) => {
      say(event, { deliveryTag: event.confirmTag ?? 0, name: 'basic.nack' });
    });
    for (let n = 0; n < 20; n += 1) await failure(send(transport, toTopic(where), 'x'));
    end();
    expect(peer.received('confirm.select')).to.have.length(2);
  });

  it('a refusal of a reply: it is sent again, as its receiver knows duplicates (AMQP-25)', async () => {
    peer.scriptOnce('basic.publish', (event) => {
      say(event, { deliveryTag: 1, name: 'basic.nack' });
    });
    await send(transport, { kind: 'reply', address: 'reply_1' }, 'x');
    expect(peer.received('basic.publish')).to.have.length(2);
  });
});
