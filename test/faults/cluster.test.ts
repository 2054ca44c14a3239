import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually, within } from '../support/rigs/deadline.js';
import { type RabbitCluster, rabbitCluster } from '../support/rigs/rabbit-cluster.js';
import { Bed, fresh, source } from './bed.js';

const NODES = 3;
const SENDERS = 4;
const PACE_MS = 5;
const CALL_MS = 10_000;
const WAIT_MS = 60_000;
/** All begin on the first node, which so has the leaders of all queues, too. */
const OPTIONS = {
  rabbit_quorum_queue: true,
  rabbit_transient_quorum_queue: true,
  host_order: 'given',
} as const;
const KNOWN = new Set(['ERR_DELIVERY', 'ERR_TIMEOUT']);

describe('a cluster of RabbitMQ', function () {
  this.timeout(300_000);
  let cluster: RabbitCluster;
  const bed = new Bed();

  before(async () => {
    cluster = await rabbitCluster(NODES);
  });

  after(async () => {
    await bed.end();
    await cluster.dispose();
  });

  it('loses a node and is rolled while calls and casts go on: all settle, what was confirmed runs, nothing runs twice (AMQP-02, AMQP-03, AMQP-15, AMQP-35)', async () => {
    const where = source();
    const vhost = fresh('vhost');
    const url = await cluster.vhost(vhost);
    const ran = new Map<string, number>();
    const work = (_context: unknown, { id }: { id: string }): string => {
      ran.set(id, (ran.get(id) ?? 0) + 1);
      return id;
    };
    const serving = await bed.connected(url, OPTIONS);
    await bed.serve(serving, where, { work }, { duplicateWindow: 100_000 });
    const calling = await bed.connected(url, OPTIONS);
    const client = bed.client(calling, where, { timeoutMs: CALL_MS });

    let answered = 0;
    let isOver = false;
    const confirmed: string[] = [];
    const failed: unknown[] = [];
    const wrong: unknown[] = [];
    const one = async (id: string): Promise<void> => {
      try {
        await client.cast({}, 'work', { id: `cast-${id}` });
        confirmed.push(`cast-${id}`);
        if ((await client.call({}, 'work', { id })) !== id || !ran.has(id)) wrong.push(id);
        answered += 1;
      } catch (error) {
        failed.push(error);
        if (!KNOWN.has((error as { code?: string }).code ?? '')) wrong.push(error);
      }
    };
    const sender = async (name: number): Promise<void> => {
      for (let n = 0; !isOver; n += 1) {
        await one(`${String(name)}-${String(n)}`);
        await pause(PACE_MS);
      }
    };
    const goesOn = async (what: string): Promise<void> => {
      const enough = answered + 20;
      const isWhole = (): boolean =>
        answered > enough &&
        [serving, calling].every((each) => each.status().connection === 'connected') &&
        serving.status().listeners.every(({ subscribed }) => subscribed);
      await eventually(what, WAIT_MS, isWhole).catch((cause: unknown) => {
        throw new Error(`${String(failed.length)} failures, the last ${String(failed.at(-1))}`, { cause });
      });
    };

    await one('first'); // which declares the reply queue, too
    await cluster.allMembersOnline(vhost);
    const sending = Promise.all(Array.from({ length: SENDERS }, (_none, name) => sender(name)));
    try {
      for (const [index, node] of cluster.nodes.entries()) {
        await goesOn('calls on all nodes');
        await node.awaitOnlineQuorumPlusOne();
        await (index === 0 ? node.kill() : node.stop());
        await goesOn('calls without that node');
        await node.start();
        await cluster.allMembersOnline(vhost);
      }
      await goesOn('calls at last');
    } finally {
      isOver = true;
    }
    await within('the end of every send', CALL_MS + WAIT_MS, sending);
    await eventually('every confirmed cast to run', WAIT_MS, () => confirmed.every((id) => ran.has(id)));

    expect(wrong).to.deep.equal([]);
    expect([...ran].filter(([, times]) => times > 1)).to.deep.equal([]);
    expect(answered).to.be.above(failed.length);
    process.stderr.write(`${String(answered)} calls answered, ${String(failed.length)} sends failed\n`);
  });
});
