import { eventually } from './deadline.js';
import { NOT_SAVED, RedisProcess } from './redis-process.js';
import type { TlsFiles } from './tls-files.js';

const MASTERS = 3;
const SLOTS = 16_384;
const NODE_TIMEOUT_MS = 1_500;
const READY_LIMIT_MS = 30_000;
const MIGRATE_LIMIT_MS = 5_000;
const KEYS_AT_ONCE = 100;

export interface RedisClusterOptions {
  /** Each master gets one. */
  readonly replicas?: boolean;
  /** Lines of the configuration of all nodes. */
  readonly config?: readonly string[];
  /** All of them speak TLS alone. */
  readonly tls?: TlsFiles;
}

/** Three masters that share the slots, and a replica of each if there are to be any. */
export class RedisCluster {
  readonly masters: readonly RedisProcess[];
  readonly replicas: readonly RedisProcess[];

  private constructor(masters: readonly RedisProcess[], replicas: readonly RedisProcess[]) {
    this.masters = masters;
    this.replicas = replicas;
  }

  /** Starts and joins them; about three seconds. While a master is away the others go on serving their slots. */
  static async start({
    replicas = false,
    config = NOT_SAVED,
    tls,
  }: RedisClusterOptions = {}): Promise<RedisCluster> {
    const lines = [
      ...config,
      'cluster-config-file nodes.conf',
      `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
      'cluster-require-full-coverage no',
      'repl-diskless-sync-delay 0',
      'cluster-replica-validity-factor 0',
    ];
    const count = replicas ? 2 * MASTERS : MASTERS;
    const starts = Array.from({ length: count }, () =>
      RedisProcess.start({ config: lines, cluster: true, ...(tls && { tls }) }),
    );
    const settled = await Promise.allSettled(starts);
    const nodes = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const cluster = new RedisCluster(nodes.slice(0, MASTERS), nodes.slice(MASTERS));
    try {
      await Promise.all(starts);
      await cluster.#join();
      return cluster;
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
  }

  get nodes(): readonly RedisProcess[] {
    return [...this.masters, ...this.replicas];
  }

  /** `host:port` of each node. */
  get hosts(): readonly string[] {
    return this.nodes.map(({ port }) => `127.0.0.1:${port}`);
  }

  /** The slot of a key, or of what is in its braces. */
  async slotOf(key: string): Promise<number> {
    return Number(await this.#live().ask('CLUSTER', 'KEYSLOT', key));
  }

  /** The master that has the slot of a key, as the nodes that run see it. */
  async masterOf(key: string): Promise<RedisProcess> {
    const slot = await this.slotOf(key);
    const ranges = (await this.#live().ask('CLUSTER', 'SLOTS')) as [number, number, [string, number]][]; // its documented form
    const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
    const found = this.nodes.find((node) => node.port === port);
    if (!found) throw new Error(`Nobody has slot ${slot}`);
    return found;
  }

  /**
   * Moves the slot of a key to another master, with all that is in it.
   *
   * @param between - is done while the slot is on its way and its keys have gone: then the old master answers ASK, and
   *   from the end on MOVED
   */
  async moveSlot(key: string, to: RedisProcess, between: () => unknown = () => undefined): Promise<void> {
    const [slot, from] = [await this.slotOf(key), await this.masterOf(key)];
    const [fromId, toId] = [await idOf(from), await idOf(to)];
    await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
    await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
    await this.#moveKeys(slot, from, to);
    await between();
    await this.#moveKeys(slot, from, to);
    const others = this.masters.filter((node) => node.running && node !== from && node !== to);
    for (const node of [to, from, ...others]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  }

  /** Resolves when each node that runs says that all is well, or the state given. */
  async isOk(state = 'ok'): Promise<void> {
    await eventually(`the cluster to be ${state}`, READY_LIMIT_MS, async () => {
      const all = await Promise.all(this.nodes.filter((node) => node.running).map(stateOf));
      return all.every(
        (one) => one.includes(`cluster_state:${state}`) && one.includes(`cluster_slots_ok:${SLOTS}`),
      );
    });
  }

  async dispose(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.dispose()));
  }

  #live(): RedisProcess {
    const live = this.nodes.find((node) => node.running);
    if (!live) throw new Error('No node runs');
    return live;
  }

  async #join(): Promise<void> {
    const share = Math.ceil(SLOTS / MASTERS);
    for (const [index, master] of this.masters.entries()) {
      await master.ask('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      await master.ask('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min((index + 1) * share, SLOTS) - 1);
    }
    const [first, ...others] = this.nodes;
    const [bus] = [await busPortOf(first)];
    for (const node of others) await node.ask('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0, bus);
    await eventually('the nodes to know each other', READY_LIMIT_MS, async () => {
      const all = await Promise.all(this.nodes.map(stateOf));
      return all.every((one) => one.includes(`cluster_known_nodes:${this.nodes.length}`));
    });
    for (const [index, replica] of this.replicas.entries()) {
      const master = this.masters[index];
      if (master) await replica.ask('CLUSTER', 'REPLICATE', await idOf(master));
    }
    await this.isOk();
  }

  async #moveKeys(slot: number, from: RedisProcess, to: RedisProcess): Promise<void> {
    for (;;) {
      const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)) as string[];
      if (keys.length === 0) return;
      await from.ask('MIGRATE', '127.0.0.1', to.port, '', 0, MIGRATE_LIMIT_MS, 'KEYS', ...keys);
    }
  }
}

async function idOf(node: RedisProcess): Promise<string> {
  return String(await node.ask('CLUSTER', 'MYID'));
}

async function stateOf(node: RedisProcess): Promise<string> {
  return String(await node.ask('CLUSTER', 'INFO').catch(() => '')); // it may have been killed meanwhile
}

/** `CLUSTER NODES` begins each line with an id and `host:port@bus port`. */
async function busPortOf(node: RedisProcess | undefined): Promise<number> {
  const nodes = String(await node?.ask('CLUSTER', 'NODES'));
  return Number(/@(\d+)/.exec(nodes)?.[1]);
}
