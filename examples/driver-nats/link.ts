import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import * as core from '@ebbgate/core';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, deferred, type NatsConnection } from '@nats-io/transport-node';
import { driverError } from './messages.js';
import { SHARED } from './queues.js';

/** What ends waits no longer for its confirmation. */
export const END_LIMIT_MS = 2000;
const CONNECT_LIMIT_MS = 5000;
const [FIRST_DELAY_MS, MOST_DELAY_MS] = [100, 5000];
/** A session that has lasted so long begins the delays anew. */
const STABLE_MS = 10_000;

/** One connection, from its beginning to its end: what was received on it is settled on it. */
export interface Session {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
}

/** What is told when. */
export interface LinkEvents extends Pick<core.DriverEvents, 'connection' | 'error'> {
  begun(): void;
  lost(cause: Error): void;
}

/**
 * One session after another. The client could connect again by itself, but would then also send what was written before,
 * when its senders have long been told that it was not.
 */
export class Link {
  readonly closing = new AbortController();
  readonly #url: core.TransportUrl;
  readonly #heartbeatMs: number;
  readonly #events: LinkEvents;
  /** Deliveries must not come in the context of whoever happened to send first. */
  readonly #scope = new AsyncResource('NatsLink');
  #running: Promise<void> | undefined;
  #next = nextSession();
  session: Session | undefined;
  state: core.ConnectionState = 'idle';
  cause: Error | undefined;

  constructor(url: core.TransportUrl, heartbeatMs: number, events: LinkEvents) {
    [this.#url, this.#heartbeatMs, this.#events] = [url, heartbeatMs, events];
  }

  /** The session, or the next one; begins to connect when nobody has yet. */
  async ready(deadline?: core.Deadline): Promise<Session> {
    const { signal } = this.closing;
    signal.throwIfAborted();
    this.#running ??= this.#scope.runInAsyncScope(() => this.#run());
    const late = (): Error => new core.MessageDeliveryError('Not connected in time', { cause: this.cause });
    return core.within(this.#next, { signal, ...(deadline && { timeoutMs: deadline.remainingMs }) }, late);
  }

  /** Waits before another attempt, longer after each. */
  async pause(failures: number): Promise<void> {
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** failures, MOST_DELAY_MS) * (0.5 + Math.random());
    await sleep(delayMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.session?.connection.close();
    await this.#running;
    this.#become('closed');
  }

  async #run(): Promise<void> {
    this.#become('connecting');
    for (let failures = 0; ; failures += 1) {
      const begun = performance.now();
      const cause = await this.#open().then((session) => this.#live(session), driverError);
      if (this.closing.signal.aborted) return;
      const isTold = this.state !== 'disconnected' || this.cause?.message === cause.message;
      if (!isTold) this.#events.error(cause);
      if (cause instanceof core.AuthenticationError) this.#renew(cause);
      this.#become('disconnected', cause);
      if (performance.now() - begun > STABLE_MS) failures = 0;
      await this.pause(failures);
    }
  }

  async #open(): Promise<Session> {
    const { hosts } = this.#url;
    const host = hosts[Math.floor(Math.random() * hosts.length)];
    if (!host) throw new Error('the URL has no host');
    const { hostname, port = 4222, username: user, password: pass } = host;
    const connection = await connect({
      servers: `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`,
      ...{ user, pass, timeout: CONNECT_LIMIT_MS, noAsyncTraces: true },
      ...{ reconnect: false, ignoreClusterUpdates: true, pingInterval: this.#heartbeatMs },
    });
    try {
      const manager = await jetstreamManager(connection, { checkAPI: false, timeout: CONNECT_LIMIT_MS });
      await manager.streams.add(SHARED);
      this.closing.signal.throwIfAborted();
      return { connection, manager };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Resolves with the reason of its end. */
  async #live(session: Session): Promise<Error> {
    this.session = session;
    this.#next.resolve(session);
    this.#become('connected');
    this.#events.begun();
    const cause = driverError((await session.connection.closed()) ?? new Error('the connection was closed'));
    this.session = undefined;
    this.#renew(cause);
    this.#events.lost(cause);
    return cause;
  }

  /** Who waits for the next session hears of a refusal; from now on it is another one. */
  #renew(refusal: Error): void {
    this.#next.reject(refusal);
    this.#next = nextSession();
  }

  #become(state: core.ConnectionState, cause?: Error): void {
    const isNews = this.state !== state;
    [this.state, this.cause] = [state, cause];
    if (isNews) this.#events.connection(state, cause);
  }
}

function nextSession(): ReturnType<typeof deferred<Session>> {
  const next = deferred<Session>();
  next.catch(() => undefined); // perhaps nobody waits for it
  return next;
}
