import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import * as core from '@ebbgate/core';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, deferred, type NatsConnection } from '@nats-io/transport-node';
import type { Listener } from './listener.js';
import { driverError } from './messages.js';

const timeout = 5000; // what is not answered by then counts as lost

/** One connection, from its beginning to its end: what was received on it is settled on it. */
export interface Session {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
}

/**
 * One session after another. The client could connect again by itself, but would then also send what was written before,
 * when its senders have long been told that it was not.
 */
export class Link {
  readonly events: core.DriverEvents;
  /** Milliseconds of silence after which each side takes the other for dead. */
  readonly silenceMs: number;
  readonly #hosts: readonly core.TransportHost[];
  /** The reply queue is one, too: of replies alone. */
  readonly listeners = new Set<Listener>();
  readonly closing = new AbortController();
  /** Deliveries must not come in the context of whoever happened to send first. */
  readonly scope = new AsyncResource('NatsLink');
  session: Session | undefined;
  state: core.ConnectionState = 'idle';
  cause: Error | undefined;
  #next = deferred<Session>();
  #running: Promise<void> | undefined;

  constructor(hosts: readonly core.TransportHost[], silenceMs: number, events: core.DriverEvents) {
    [this.#hosts, this.silenceMs, this.events] = [hosts, silenceMs, events];
  }

  /** The session, or the next one; begins to connect when nobody has yet. */
  async ready(timeoutMs?: number): Promise<Session> {
    if (!this.closing.signal.aborted) this.#running ??= this.scope.runInAsyncScope(() => this.#run());
    return this.unlessClosed(this.#next, timeoutMs);
  }

  /** What was begun, but no longer than until the driver is closed. */
  unlessClosed<T>(work: Promise<T>, timeoutMs?: number): Promise<T> {
    const limits = { signal: this.closing.signal, ...(timeoutMs !== undefined && { timeoutMs }) };
    const late = (): Error => new core.MessageDeliveryError('Not connected in time', { cause: this.cause });
    return core.within(work, limits, late);
  }

  /** Waits before another attempt, longer after each. */
  async pause(failures: number): Promise<void> {
    const delayMs = Math.min(100 * 2 ** failures, 5000) * (0.5 + Math.random());
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
      const cause = await this.#live().catch(driverError);
      if (this.closing.signal.aborted) return;
      const isRefused = cause instanceof core.AuthenticationError;
      this.#next.catch(() => undefined); // perhaps nobody waits for it
      if (isRefused) this.#next.reject(cause);
      if (isRefused || this.session) [this.session, this.#next] = [undefined, deferred()];
      this.#become('disconnected', cause);
      if (performance.now() - begun > 10_000) failures = 0; // it was stable
      await this.pause(failures);
    }
  }

  /** One session. @returns the reason of its end */
  async #live(): Promise<Error> {
    const host = this.#hosts[Math.floor(Math.random() * this.#hosts.length)];
    if (!host) throw new core.ConfigurationError('The URL has no host');
    const { hostname, port = 4222, username: user, password: pass } = host;
    const connection = await connect({
      ...{ servers: new core.TransportHost({ hostname, port }).format(), user, pass, timeout },
      ...{ reconnect: false, ignoreClusterUpdates: true, pingInterval: this.silenceMs },
    });
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout });
    if (this.closing.signal.aborted) await connection.close();
    this.session = { connection, manager };
    this.#next.resolve(this.session);
    this.#become('connected');
    return driverError((await connection.closed()) ?? new Error('the connection was closed'));
  }

  /** Tells what has changed: the state, or else why it is what it was. */
  #become(state: core.ConnectionState, cause?: Error): void {
    const [isNews, isOther] = [this.state !== state, this.cause?.message !== cause?.message];
    [this.state, this.cause] = [state, cause];
    if (isNews) this.events.connection(state, cause);
    else if (cause && isOther) this.events.error(cause);
  }
}
