import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { type RabbitCluster, rabbitCluster } from '../support/rigs/rabbit-cluster.js';
import { Bed, source } from './bed.js';

const NODES = 3;
const SENDERS = 4;
const WAIT_MS = 90_000;
const QUORUM = { rabbit_quorum_queue: true, rabbit_transient_quorum_queue: true };

describe('a cluster of RabbitMQ', function () {
  this.timeout(400_000);
  let cluster: RabbitCluster;
  const bed = new Bed();

  before(async () => {
    cluster = await rabbitCluster(NODES);
  });

  after(async () => {
    await bed.end();
    await cluster.dispose();
  });

  it('is rolled node by node while calls and casts go on: none that was confirmed is lost, none runs twice (AMQP-15, AMQP-02, AMQP-35)', async () => {
    const where = source();
    const url = await cluster.vhost();
    const ran = new Map<string, number>();
    const work = (_context: unknown, { id }: { id: string }): string => {
      ran.set(id, (ran.get(id) ?? 0) + 1);
      return id;
    };
    const serving = await bed.connected(url, QUORUM);
    await bed.serve(serving, where, { work }, { duplicateWindow: 100_000 });
    const calling = await bed.connected(url, QUORUM);
    const client = bed.client(calling, where, { timeoutMs: 20_000 });
    const confirmed: string[] = [];
    const wrong: unknown[] = [];
    const outcomes = { answered: 0, failed: 0 };
    const state = { isOver: false };
    const sender = async (name: number): Promise<void> => {
      for (let n = 0; !state.isOver; n += 1) {
        const id = `${String(name)}-${String(n)}`;
        try {
          await client.cast({}, 'work', { id: `cast-${id}` });
          confirmed.push(`cast-${id}`);
          if ((await client.call({}, 'work', { id })) !== id) wrong.push(id);
          outcomes.answered += 1;
        } catch (error) {
          outcomes.failed += 1;
          const { code } = error as { code?: string };
          if (code !== 'ERR_DELIVERY' && code !== 'ERR_TIMEOUT') wrong.push(error);
        }
      }
    };
    const sending = Promise.all(Array.from({ length: SENDERS }, (_none, name) => sender(name)));
    const isWhole = (): boolean =>
      [serving, calling].every((each) => {
        const { connection, listeners } = each.status();
        return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
      });
    const roll = async (): Promise<void> => {
      for (const [index, node] of cluster.nodes.entries()) {
        await (index === 0 ? node.kill() : node.stop());
        const before = outcomes.answered;
        const isBack = (): boolean => isWhole() && outcomes.answered > before + 20;
        await eventually('calls without that node', WAIT_MS, isBack);
        await node.start();
        await node.ctl('await_online_nodes', String(NODES));
      }
    };
    await roll().finally(() => {
      state.isOver = true; // whatever happens: what sends would never end, and keep each error
    });
    await sending;
    await eventually('every confirmed cast to run', WAIT_MS, () => confirmed.every((id) => ran.has(id)));
    expect(wrong).to.deep.equal([]);
    expect([...ran].filter(([, times]) => times > 1)).to.deep.equal([]);
    expect(outcomes.answered).to.be.above(outcomes.failed);
  });
});
