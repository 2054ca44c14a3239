import { redactedCause, within } from '@ebbgate/core';
import { Cluster, Redis } from 'ioredis';
import { clusterOptions, type Role, serverOptions } from './client-options.js';
import { type Address, connectorOf } from './connector.js';
import type { StoreHost } from './hosts.js';
import type { RedisSettings } from './options.js';
import type { Script } from './script-parts.js';
import { locateStore } from './sentinels.js';
import { ConnectionLostError, NotDoneError, refusalOf } from './store-errors.js';

/** What commands are made of. */
export type Argument = string | Buffer | number;

/**
 * One connection of ioredis (to a cluster: one to each of its masters), from before it connects until it is ended. It never
 * comes back: who needs another makes one.
 */
export class StoreClient {
  /** Resolves, with the reason, when it is of no use any more. Never rejects. */
  readonly lost: Promise<Error>;
  readonly hosts: readonly StoreHost[];
  readonly #client: Redis | Cluster;
  #onLost: (cause: Error) => void = () => undefined;
  #lastError: Error | undefined;
  /** The first of all its streams: why nodes were not reached, of which ioredis only says that they were not. */
  #streamError: Error | undefined;
  #ended = false;

  constructor(settings: RedisSettings, hosts: readonly StoreHost[], role: Role) {
    this.hosts = hosts;
    this.lost = new Promise((resolve) => (this.#onLost = resolve));
    this.#client = this.#make(settings, role);
    this.#client.on('error', (error: Error) => {
      this.#lastError = error;
    });
    for (const event of ['close', 'end']) {
      this.#client.on(event, () => {
        this.end(undefined);
      });
    }
    // Of a cluster: a master that was reached and is lost takes what was under way to it. Others are done without.
    this.#client.on('node error', (error: Error) => {
      this.#lastError = error;
    });
    this.#client.on('+node', (node: Redis) => {
      const onEnd = (): void => {
        if (node.options.readOnly !== true) this.end(undefined);
      };
      node.once('ready', () => node.once('end', onEnd));
    });
  }

  #make(settings: RedisSettings, role: Role): Redis | Cluster {
    const { layout } = settings;
    const locate = (signal: AbortSignal): Promise<Address> => locateStore(settings, this.hosts, signal);
    const onError = (error: Error): void => void (this.#streamError ??= error);
    const Connector = connectorOf({ ...(layout === 'sentinel' && { locate }), onError });
    if (layout !== 'cluster') return new Redis({ ...serverOptions(settings, this.hosts, role), Connector });
    const nodes = this.hosts.map(({ hostname, port }) => ({ host: hostname, port }));
    return new Cluster(nodes, clusterOptions(settings, this.hosts, role, Connector));
  }

  /** @throws what has kept it from connecting in time; it is ended then. */
  async connect(timeoutMs: number, signal: AbortSignal): Promise<void> {
    try {
      const late = (): Error => new ConnectionLostError('The store did not answer in time');
      await within(this.#client.connect(), { timeoutMs, signal }, late);
    } catch (error) {
      const cause = this.#lastError ?? error;
      this.end(undefined);
      throw refusalOf(cause) === undefined ? (this.#streamError ?? cause) : cause;
    }
  }

  get isLost(): boolean {
    return this.#ended;
  }

  /** Resolves with the reply, texts as buffers. Rejects with the store's own error, or when the connection is lost. */
  async call(command: string, args: Argument[]): Promise<unknown> {
    try {
      return await this.#client.callBuffer(command, args);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === 'lost' || isSentOn(error)) this.end(error as Error); // an error of the store's, or in its words
      if (refusal === undefined) this.end(undefined); // a node cannot be reached: what was under way there has no answer
      if (!isNotDone(error)) throw error;
      throw new NotDoneError('The connection was lost', { cause: error });
    }
  }

  /** Runs a script by its hash, or by its text when the store has forgotten it. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await this.call('evalsha', [script.sha, ...rest]);
    } catch (error) {
      if (refusalOf(error) !== 'unknown-script') throw error; // else nothing of it was done
      return this.call('eval', [script.text, ...rest]);
    }
  }

  /**
   * Waits until one of the lists has a sign, or so long at most, and runs a script then: both leave at once, and nothing
   * comes between them. Gives whether there was a sign, and the reply of the script.
   */
  async runAtSign(
    bells: readonly string[],
    waitMs: number,
    ...[script, keys, args]: Parameters<StoreClient['run']>
  ): Promise<readonly [hadSign: boolean, reply: unknown]> {
    let sign: Promise<unknown> | undefined;
    let reply: Promise<unknown> | undefined;
    this.corked(() => {
      sign = this.call('blpop', [...bells, waitMs / 1000]);
      reply = this.run(script, keys, args);
    });
    const [found, result] = await Promise.all([sign, reply]);
    return [found !== null, result];
  }

  /** What is written meanwhile leaves in one system call. */
  corked(write: () => void): void {
    const stream = this.#client instanceof Redis ? this.#client.stream : undefined;
    stream?.cork();
    write();
    stream?.uncork();
  }

  /** Ends it; nothing of it stays for longer than what was written takes to leave. */
  end(cause: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#client.disconnect();
    this.#onLost(redactedCause(cause ?? this.#lastError ?? new Error('closed by the store')));
  }
}

/** So ioredis words that the nodes of a cluster have sent a command on for too long: it has no class or code for it. */
function isSentOn(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Too many Cluster redirections');
}

/** The same, or it has no connection that it could write to. */
function isNotDone(error: unknown): boolean {
  const isUnwritten = error instanceof Error && error.message.includes('enableOfflineQueue options is false');
  return isUnwritten || isSentOn(error);
}
