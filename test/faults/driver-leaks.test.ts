import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timers, type Transport } from '@ebbgate/core';
import type { RpcClient } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Bed, failure, send, source, toFanout, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;
const TRANSPORTS = 6;
const CUTS = 10;
const RECONNECTS = 2 * TRANSPORTS * CUTS;
const MIB = 1024 ** 2;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // V8's own, behind the flag

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const isWhole = (transport: Transport) => (): boolean => {
  const { connection, listeners } = transport.status();
  return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
};

describe('what the RabbitMQ driver keeps', function () {
  this.timeout(60_000);

  describe('over reconnects', () => {
    let bed: RabbitBed;

    beforeEach(async () => {
      bed = await RabbitBed.start();
    });

    afterEach(() => bed.end());

    /** What a leak would make grow: of this process, and at the broker. */
    async function kept(): Promise<Record<string, number>> {
      const counts: Record<string, number> = { timers: timers.size, listeners: 0 };
      for (const each of process.getActiveResourcesInfo())
        if (/TCP|Timeout/.test(each)) counts[each] = (counts[each] ?? 0) + 1;
      for (const name of process.eventNames())
        counts['listeners'] = (counts['listeners'] ?? 0) + process.listenerCount(name);
      const { view } = bed.node;
      counts['connections'] = (await view.connections(bed.vhost)).length;
      counts['channels'] = (await view.channels(bed.vhost)).length;
      counts['consumers'] = (await view.consumers(bed.vhost)).length;
      counts['objects'] = (await bed.objects()).length;
      return counts;
    }

    it(`is the same after ${String(RECONNECTS)} of them, failed ones included, and nothing warns of a leak (CORE-10, AMQP-34)`, async () => {
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on('warning', onWarning);
      bed.onEnd(() => process.off('warning', onWarning));
      const quick = { kombu_reconnect_delay: 0.01, rabbit_interval_max: 1, amqp_durable_queues: true };
      const lost = new Set<Transport>();
      const serving = async (): Promise<[Transport, RpcClient]> => {
        const where = source();
        const transport = await bed.connected(bed.url, quick);
        transport.events.on('connection', ({ state }) => {
          if (state === 'disconnected') lost.add(transport);
        });
        await bed.serve(transport, where, { ping: () => 'pong' });
        return [transport, bed.client(transport, where)];
      };
      const all = await Promise.all(Array.from({ length: TRANSPORTS }, serving));
      const cut = async (times: number): Promise<void> => {
        lost.clear();
        const isHard = times % 3 === 0; // some attempts fail
        if (isHard) await bed.proxy.setDoorman('refuse');
        bed.proxy.cut(times % 2 === 0 ? 'rst' : 'fin');
        await eventually('the losses', WAIT_MS, () => lost.size === TRANSPORTS);
        for (const [, client] of isHard ? all : [])
          expect((await failure(client.prepare({ retry: 0 }).cast({}, 'ping'))).code).to.equal(
            'ERR_DELIVERY',
          );
        await bed.proxy.setDoorman('forward');
        await eventually('the return', WAIT_MS, () => all.every(([transport]) => isWhole(transport)()));
        for (const [, client] of all) {
          expect(await client.call({}, 'ping')).to.equal('pong');
          await client.prepare({ fanout: true }).cast({}, 'ping');
        }
      };
      for (let times = 0; times < 3; times += 1) await cut(times); // warm-up
      const before = await kept();
      const heapBefore = heap();
      for (let times = 0; times < CUTS; times += 1) await cut(times);
      expect(heap() - heapBefore).to.be.below(2 * MIB); // the log of this test is part of it
      await eventually('all as before', WAIT_MS, async () => {
        const now = await kept();
        return Object.entries(before).every(([what, count]) => (now[what] ?? 0) <= count);
      });
      expect(warnings).to.deep.equal([]);
    });
  });

  describe('of what it has declared', () => {
    let bed: Bed;
    let peer: AmqpPeer;

    beforeEach(async () => {
      peer = await AmqpPeer.start();
      bed = new Bed();
    });

    afterEach(async () => {
      await bed.end();
      await peer.close();
    });

    it('holds for one connection: once for all sends, again after a reconnect (CORE-13)', async () => {
      const where = source();
      const transport = await bed.connected(peer.url());
      await bed.listen(transport, where);
      const declared = (): Record<string, number> => ({
        exchanges: peer.received('exchange.declare').length,
        queues: peer.received('queue.declare').length,
        bindings: peer.received('queue.bind').length,
      });
      const sendAll = async (): Promise<void> => {
        for (let n = 0; n < 20; n += 1) {
          const both = [send(transport, toTopic(where), 'x'), send(transport, toFanout(where), 'x')];
          await Promise.all(both);
        }
      };
      await sendAll();
      const first = declared();
      expect(first).to.deep.equal({ exchanges: 3 + 2, queues: 3, bindings: 3 }); // of the listener, and of the sends
      await sendAll();
      expect(declared()).to.deep.equal(first);
      let losses = 0;
      transport.events.on('connection', ({ state }) => void (losses += state === 'disconnected' ? 1 : 0));
      for (const connection of peer.connections) connection.cut();
      await eventually('the loss', WAIT_MS, () => losses > 0);
      await eventually('the return', WAIT_MS, isWhole(transport));
      await sendAll();
      expect(declared()).to.deep.equal({ exchanges: 2 * (3 + 2), queues: 6, bindings: 6 });
    });
  });
});
