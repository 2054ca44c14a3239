import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Bed, send, source, toFanout, toTopic } from './bed.js';

const WAIT_MS = 5_000;

/** How often each method is used by one listener, one sender to a topic, one to a fanout, and one reply queue. */
const USES = [
  ['channel.open', 6],
  ['exchange.declare', 5],
  ['queue.declare', 4],
  ['queue.bind', 3],
  ['basic.qos', 1],
  ['basic.consume', 4],
  ['confirm.select', 2],
] as const;

describe('a channel that the broker closes in the same packet as an answer', function () {
  this.timeout(15_000);
  let peer: AmqpPeer;
  let bed: Bed;
  let states: string[];

  beforeEach(async () => {
    peer = await AmqpPeer.start();
    bed = new Bed();
    states = [];
  });

  afterEach(async () => {
    await bed.end();
    await peer.close();
  });

  /** Closes the channel behind, or in the place of, the answer to the n-th use of a method. */
  function closeAt(name: string, use: number, how: 'behind' | 'in place of'): () => void {
    let uses = 0;
    return peer.script(name, (event, connection) => {
      uses += 1;
      connection.cork();
      if (uses !== use || how === 'behind') connection.answer(event);
      if (uses === use) connection.closeChannel(event.channel, 541, `INTERNAL_ERROR - at ${name}`);
      connection.uncork();
    });
  }

  /** Does everything that has a channel; resolves when all of it works. */
  async function useAll(transport: Transport): Promise<void> {
    const where = source();
    const replies: unknown[] = [];
    const heard = await bed.listen(transport, where);
    await send(transport, toTopic(where), 'x');
    await send(transport, toFanout(where), 'x');
    const { address } = await transport.openReplyQueue((message) => void replies.push(message));
    const properties = { contentType: 'application/json' };
    for (const queue of [where.topic, address]) {
      await eventually(`the delivery of ${queue}`, WAIT_MS, () => {
        const consume = peer.received('basic.consume').findLast(({ args }) => args['queue'] === queue);
        consume?.connection.deliver(consume.channel, `amq.ctag-${queue}`, 1, { properties, body: '{}' });
        return (queue === address ? replies : heard.texts).length > 0;
      });
    }
    expect(transport.status().listeners.every(({ subscribed }) => subscribed)).to.equal(true);
  }

  for (const [name, uses] of USES) {
    for (const how of ['behind', 'in place of'] as const) {
      it(`${how} that to ${name}: costs that channel alone, which is opened again (AMQP-04, AMQP-09)`, async () => {
        for (let use = 1; use <= uses; use += 1) {
          const before = peer.connections.length;
          const opened = peer.received('channel.open').length;
          const transport = await bed.connected(peer.url());
          transport.events.on('connection', ({ state }) => void states.push(state));
          transport.events.on('listener', ({ cause }) => cause && bed.log.warn({ err: cause }, 'a listener'));
          transport.events.on('error', (err) => {
            bed.log.warn({ err }, 'an error');
          });
          const end = closeAt(name, use, how);
          const told = bed.log.lines.length;
          await useAll(transport).catch((error: unknown) => {
            // A declaration that is refused is the answer to a send, and not tried again.
            if (how === 'behind' || name !== 'exchange.declare' || use <= 3) throw error;
            bed.log.warn({ err: error }, 'a send');
            end();
            return useAll(transport);
          });
          end();
          expect(peer.connections.length - before, `${name} ${String(use)}`).to.equal(2);
          expect(states.filter((state) => state !== 'closed')).to.deep.equal([]);
          const since = JSON.stringify(bed.log.lines.slice(told), (_key, value: unknown) =>
            value instanceof Error ? value.message : value,
          );
          expect(since).to.contain(`at ${name}`);
          await transport.close();
          if (how === 'behind') expect(peer.received('channel.open').length - opened).to.be.within(6, 7);
        }
      });
    }
  }
});
