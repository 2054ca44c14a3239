import { eventually } from './deadline.js';
import { NOT_SAVED, RedisProcess } from './redis-process.js';
import type { TlsFiles } from './tls-files.js';

/** The name by which Sentinels know the master. */
const NAME = 'ebbgate';
/** Of the rig itself, and gone after each use. */
const KEY = 'rig';
const ASK_MS = 500;
/** A Sentinel that did not get to run for two seconds does nothing for thirty more (its TILT mode). */
const READY_LIMIT_MS = 90_000;
/** As short as a loaded machine allows. */
const DOWN_AFTER_MS = 700;
const FAIL_OVER_MS = 3_000;
/** Sentinel's own periods, which are seconds, so that it learns and acts within a test. */
const PERIODS = [
  ...['info-period', '300', 'publish-period', '200', 'ask-period', '200'],
  ...['election-timeout', '1000', 'min-link-reconnect-period', '200'],
];

/** Which process is meant: the server that is master or replica at this moment, or the first of the Sentinels. */
export type SentinelRole = 'master' | 'replica' | 'sentinel';

export interface RedisSentinelOptions {
  /** One to three. */
  readonly sentinels?: number;
  /** Lines of the configuration of both servers. */
  readonly config?: readonly string[];
  /** All of them speak TLS alone. */
  readonly tls?: TlsFiles;
}

/** A master, a replica of it, and Sentinels that watch both. */
export class RedisSentinel {
  readonly name = NAME;
  readonly servers: readonly RedisProcess[];
  readonly sentinels: readonly RedisProcess[];

  private constructor(servers: readonly RedisProcess[], sentinels: readonly RedisProcess[]) {
    this.servers = servers;
    this.sentinels = sentinels;
  }

  /** Starts all of it; two to four seconds. */
  static async start({
    sentinels: count = 1,
    config = NOT_SAVED,
    tls,
  }: RedisSentinelOptions = {}): Promise<RedisSentinel> {
    const started: RedisProcess[] = [];
    const start = async (options: Parameters<typeof RedisProcess.start>[0]): Promise<RedisProcess> => {
      const one = await RedisProcess.start({ ...options, ...(tls && { tls }) });
      started.push(one);
      return one;
    };
    try {
      const lines = [...config, 'repl-diskless-sync-delay 0', 'repl-ping-replica-period 1'];
      const master = await start({ config: lines });
      const replica = await start({ config: [...lines, `replicaof 127.0.0.1 ${master.port}`] });
      await isReplicating(master, replica);
      const watch = watching(master.port, Math.floor(count / 2) + 1);
      const sentinel = (): Promise<RedisProcess> => start({ program: 'redis-sentinel', config: watch });
      const sentinels = await Promise.all(Array.from({ length: count }, sentinel));
      for (const one of sentinels) await one.ask('SENTINEL', 'DEBUG', ...PERIODS);
      for (const one of sentinels) await knowsAll(one, count);
      return new RedisSentinel([master, replica], sentinels);
    } catch (error) {
      await Promise.all(started.map((one) => one.dispose()));
      throw error;
    }
  }

  /** `host:port` of each Sentinel. */
  get hosts(): readonly string[] {
    return this.sentinels.map(({ port }) => `127.0.0.1:${port}`);
  }

  /** The server that is meant. The master is the one that a Sentinel which runs tells. */
  async find(which: SentinelRole): Promise<RedisProcess> {
    const port = which === 'sentinel' ? this.sentinels[0]?.port : await this.#masterPort();
    const all = which === 'sentinel' ? this.sentinels : this.servers;
    const found = all.find((one) => (one.port === port) === (which !== 'replica'));
    if (!found) throw new Error(`There is no ${which}`);
    return found;
  }

  /** Makes the replica the master, in order; resolves when Sentinel tells the new one and the old one follows it. */
  async failOver(): Promise<void> {
    const [master, replica] = [await this.find('master'), await this.find('replica')];
    const sentinel = await this.#liveSentinel();
    await eventually('Sentinel to begin', READY_LIMIT_MS, () =>
      sentinel.ask('SENTINEL', 'FAILOVER', NAME).then(
        () => true,
        (error: unknown) => {
          if (/NOGOODSLAVE|INPROG/.test(String(error))) return false; // it has just seen another
          throw error;
        },
      ),
    );
    await this.becomesMaster(replica);
    await isReplicating(replica, master); // the roles have changed
  }

  /** Resolves when this server is the master, and is said to be. */
  async becomesMaster(server: RedisProcess): Promise<void> {
    await eventually('the new master', READY_LIMIT_MS, async () => {
      if ((await this.#masterPort()) !== server.port) return false;
      return (await server.info('replication')).get('role') === 'master';
    });
  }

  /** SIGKILL; gives what was killed, for its `start()`. A master that is killed is replaced within seconds. */
  async kill(which: SentinelRole): Promise<RedisProcess> {
    const found = await this.find(which);
    await found.kill();
    return found;
  }

  /** SIGSTOP; gives what was paused, for its `resume()`. */
  async pause(which: SentinelRole): Promise<RedisProcess> {
    const found = await this.find(which);
    found.pause();
    return found;
  }

  /** Resolves when both servers run as master and replica again. */
  async whole(): Promise<void> {
    await isReplicating(await this.find('master'), await this.find('replica'));
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((one) => one.dispose()));
  }

  async #liveSentinel(): Promise<RedisProcess> {
    const live = this.sentinels.find((one) => one.running);
    if (!live) throw new Error('No Sentinel runs');
    return live;
  }

  async #masterPort(): Promise<number> {
    const answer = await (await this.#liveSentinel()).ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
    return Number((answer as [host: string, port: string])[1]); // it knows the master from its configuration
  }
}

const watching = (port: number, quorum: number): readonly string[] => [
  `sentinel monitor ${NAME} 127.0.0.1 ${port} ${quorum}`,
  `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
  `sentinel failover-timeout ${NAME} ${FAIL_OVER_MS}`,
];

async function isReplicating(master: RedisProcess, replica: RedisProcess): Promise<void> {
  await eventually('the replica to be in step', READY_LIMIT_MS, async () => {
    const seen = await replica.info('replication').catch(() => undefined); // it may have been paused
    return seen?.get('role') === 'slave' && seen.get('master_link_status') === 'up';
  });
  // The link is up before it carries what is written: a replica that was promoted then would lack all of that.
  await master.ask('SET', KEY, '1');
  await eventually('the replica to be given what is written', READY_LIMIT_MS, async () => {
    return Number(await master.ask('WAIT', 1, ASK_MS)) === 1;
  });
  await master.ask('DEL', KEY);
}

/** It has heard of the replica, and of the other Sentinels. */
async function knowsAll(sentinel: RedisProcess, sentinels: number): Promise<void> {
  await eventually('the Sentinels to know each other', READY_LIMIT_MS, async () => {
    const told = (await sentinel.info('sentinel')).get('master0') ?? '';
    return told.includes('status=ok') && told.includes('slaves=1') && told.includes(`sentinels=${sentinels}`);
  });
}
