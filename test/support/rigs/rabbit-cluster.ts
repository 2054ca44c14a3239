import { randomBytes } from 'node:crypto';
import { eventually } from './deadline.js';
import { RabbitNode, type RabbitOptions } from './rabbitmq.js';

/** Nodes of our own that are one cluster. */
export interface RabbitCluster {
  readonly nodes: readonly RabbitNode[];
  /** Makes a virtual host and gives one URL with all nodes: `rabbit://u:p@host:1,u:p@host:2/vhost`. */
  vhost(name?: string): Promise<string>;
  /** Resolves when each queue of the virtual host has a member on every node, and all of them are online. */
  allMembersOnline(vhost: string): Promise<void>;
  dispose(): Promise<void>;
}

const ONLINE_LIMIT_MS = 60_000;

/** As `rabbitmqctl stop_app`, `join_cluster` and `start_app` do. */
async function join(node: RabbitNode, first: RabbitNode): Promise<void> {
  await node.view.evaluate(
    `rabbit:stop(), ok = rabbit_mnesia:join_cluster('${first.name}', disc), rabbit:start()`,
  );
}

function urlOf(nodes: readonly RabbitNode[], vhost: string): string {
  const hosts = nodes.map((node) => `${node.user}:${node.password}@127.0.0.1:${node.port}`);
  return `rabbit://${hosts.join(',')}/${encodeURIComponent(vhost)}`;
}

/** Starts so many nodes and joins them; three take about half a minute. */
export async function rabbitCluster(size: number, options: RabbitOptions = {}): Promise<RabbitCluster> {
  const secrets = { cookie: randomBytes(12).toString('hex'), password: randomBytes(8).toString('hex') };
  const starts = Array.from({ length: size }, () => RabbitNode.start({ ...secrets, ...options }));
  const settled = await Promise.allSettled(starts);
  const nodes = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const dispose = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.dispose()));
  };
  try {
    await Promise.all(starts);
    const [first, ...others] = nodes;
    if (!first) throw new Error('A cluster has at least one node');
    for (const node of others) await join(node, first);
    return {
      nodes,
      dispose,
      async vhost(name = `v-${randomBytes(4).toString('hex')}`) {
        await first.view.addVhost(name);
        return urlOf(nodes, name);
      },
      async allMembersOnline(vhost) {
        await eventually(`all members of the queues in ${vhost}`, ONLINE_LIMIT_MS, async () =>
          (await first.view.members(vhost)).every(({ online }) => online.length === size),
        );
      },
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}
