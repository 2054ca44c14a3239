import type { Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { Bed, source } from '../faults/bed.js';
import { eventually } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { RabbitNode } from '../support/rigs/rabbitmq.js';
import { RandomFaults, randomNumbers } from '../support/rigs/random-faults.js';

const RUN_MS = 20_000;
const SETTLE_MS = 15_000;
const SERVERS = 2;
const SENDERS = 12;
const CALL_MS = 4_000;
/** How often the broker is killed meanwhile. */
const KILLS = 2;
const KNOWN = new Set(['ERR_DELIVERY', 'ERR_TIMEOUT', 'ERR_BACKPRESSURE', 'ERR_UNDELIVERABLE']);

describe('the RabbitMQ driver, with faults at random throughout', function () {
  this.timeout(120_000);
  const undo: (() => unknown)[] = [];

  after(async () => {
    for (const each of undo.reverse()) await each();
  });

  it('settles every send, runs nothing twice on one server, and loses no confirmed cast (AMQP-02, AMQP-03, AMQP-11, RPC-01)', async () => {
    const node = await RabbitNode.start();
    const bed = new Bed();
    undo.push(
      () => node.dispose(),
      () => bed.end(),
    );
    const direct = await node.vhost();
    const proxy = await FaultProxy.start({ port: node.port });
    undo.push(() => proxy.close());
    const url = proxy.url(direct);
    const rabbit = { amqp_durable_queues: true, heartbeat_timeout_threshold: 2 };
    const where = source();
    /** How often each request ran, by server. */
    const runs = Array.from({ length: SERVERS }, () => new Map<string, number>());
    const ran = (id: string): boolean => runs.some((each) => each.has(id));
    const servers: Transport[] = [];
    for (const [index, seen] of runs.entries()) {
      const transport = await bed.connected(url, rabbit);
      servers.push(transport);
      const work = (_context: unknown, { id }: { id: string }): string => {
        seen.set(id, (seen.get(id) ?? 0) + 1);
        return id;
      };
      await bed.serve(
        transport,
        { ...where, server: `s${String(index)}` },
        { work },
        { duplicateWindow: 100_000 },
      );
    }
    const client = bed.client(await bed.connected(url, rabbit), where, { timeoutMs: CALL_MS });

    const faults = new RandomFaults(proxy, { everyMs: 250, lastMs: 150 });
    const random = randomNumbers(faults.seed + 1);
    const told = `seed ${String(faults.seed)}`;
    const confirmed: string[] = [];
    const wrong: unknown[] = [];
    let calls = 0;
    let answered = 0;
    let failed = 0;
    const endMs = performance.now() + RUN_MS;
    const sender = async (name: number): Promise<void> => {
      for (let n = 0; performance.now() < endMs; n += 1) {
        const id = `${String(name)}-${String(n)}`;
        const isCall = random() < 0.5;
        try {
          if (isCall) {
            calls += 1;
            const answer = await client.call({}, 'work', { id });
            if (answer !== id || !ran(id)) wrong.push(['a wrong answer', id, answer]);
            answered += 1;
          } else {
            await client.cast({}, 'work', { id });
            confirmed.push(id);
          }
        } catch (error) {
          failed += 1;
          const code = (error as { code?: string }).code ?? '';
          if (!KNOWN.has(code)) wrong.push(error);
        }
        await new Promise((resolve) => setTimeout(resolve, random() * 20));
      }
    };
    const killer = async (): Promise<void> => {
      for (let kill = 1; kill <= KILLS; kill += 1) {
        const atMs = endMs - RUN_MS + (RUN_MS * kill) / (KILLS + 1);
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - performance.now())));
        await node.restart('kill');
      }
    };
    await Promise.all([killer(), ...Array.from({ length: SENDERS }, (_none, name) => sender(name))]);
    await faults.stop();

    await eventually(`all servers again (${told})`, SETTLE_MS, () =>
      servers.every(
        (each) => each.status().connection === 'connected' && each.status().listeners[0]?.subscribed === true,
      ),
    );
    await eventually(
      `every confirmed cast to run (${told}; ${faults.done.slice(-5).join('; ')})`,
      SETTLE_MS,
      () => confirmed.every(ran),
    );
    const twice = runs.flatMap((each) => [...each].filter(([, times]) => times > 1));
    expect(twice, told).to.deep.equal([]);
    expect(wrong, told).to.deep.equal([]);
    expect(await client.call({}, 'work', { id: 'last' })).to.equal('last');
    // The run was one of faults, and of work.
    expect(faults.done.length, told).to.be.above(20);
    expect(answered, told).to.be.above(calls / 4);
    expect(confirmed.length + answered + failed, told).to.be.above(200);
    process.stderr.write(
      `${told}: ${String(answered)} of ${String(calls)} calls answered, ${String(confirmed.length)} casts confirmed, ${String(failed)} failed\n`,
    );
  });
});
