import { randomBytes } from 'node:crypto';
import { eventually } from './deadline.js';
import { RabbitNode, type RabbitOptions } from './rabbitmq.js';

/** Nodes of our own that are one cluster. */
export interface RabbitCluster {
  readonly nodes: readonly RabbitNode[];
  /** Makes a virtual host and gives one URL with all nodes: `rabbit://u:p@host:1,u:p@host:2/vhost`. */
  vhost(name?: string): Promise<string>;
  /** The URL with all nodes, this one first. */
  url(vhost: string, first: number): string;
  /** Parts one node from the others, which refuse each other until {@link heal}; the fewer pause (`pause_minority`). */
  part(node: number): Promise<void>;
  /** Resolves when all run again. */
  heal(): Promise<void>;
  /** The names of those that the first node knows to run. */
  runningNodes(): Promise<readonly string[]>;
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

/** Nodes that have other cookies for each other refuse each other. */
async function setCookie(node: RabbitNode, others: readonly RabbitNode[], cookie: string): Promise<void> {
  const each = others.map(
    ({ name }) => `erlang:set_cookie('${name}', '${cookie}'), erlang:disconnect_node('${name}')`,
  );
  await node.view.evaluate(`${each.join(', ')}, ok`);
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
    let parted: RabbitNode | undefined;
    const othersThan = (one: RabbitNode): RabbitNode[] => nodes.filter((node) => node !== one);
    return {
      nodes,
      dispose,
      async vhost(name = `v-${randomBytes(4).toString('hex')}`) {
        await first.view.addVhost(name);
        return urlOf(nodes, name);
      },
      url: (vhost, at) => urlOf([...nodes.slice(at), ...nodes.slice(0, at)], vhost),
      async part(index) {
        for (const { view } of nodes)
          await view.evaluate('application:set_env(rabbit, cluster_partition_handling, pause_minority)');
        parted = nodes[index];
        if (parted) await setCookie(parted, othersThan(parted), 'parted');
      },
      async heal() {
        if (parted) await setCookie(parted, othersThan(parted), secrets.cookie);
        parted = undefined;
        await eventually('all nodes to run again', ONLINE_LIMIT_MS, async () => {
          const running = await Promise.all(nodes.map(({ view }) => view.evaluate('rabbit:is_running()')));
          return running.every((one) => one === true);
        });
      },
      async runningNodes() {
        return (await first.view.evaluate('rabbit_nodes:all_running()')) as readonly string[]; // names
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
