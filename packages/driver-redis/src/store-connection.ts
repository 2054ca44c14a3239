import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  AuthenticationError,
  Backoff,
  type ConnectionState,
  type Deadline,
  type Logger,
  MessageDeliveryError,
  redactedCause,
  TransportClosedError,
  within,
} from '@ebbgate/core';
import type { StoreHost } from './hosts.js';
import { askTime, openCommands } from './open-client.js';
import type { RedisSettings } from './options.js';
import { StoreClock } from './store-clock.js';
import type { StoreClient } from './store-client.js';
import { ConnectionLostError, refusalOf } from './store-errors.js';
import { tlsReason } from './tls.js';

/** An orderly end waits so long for the answers that are still to come. */
const LAST_ANSWERS_MS = 1_000;

/** What comes and goes with the connection. */
export interface ConnectionUser {
  /** There is a connection, a new one. Must not throw. */
  onUp(client: StoreClient): void;
  /** It is gone. The cause has no secrets. */
  onDown(cause: Error): void;
}

/** What a connection tells. */
export interface ConnectionHooks {
  changed(state: ConnectionState, cause?: Error): void;
}

/** Somebody who waits for a connection. */
interface Waiter {
  readonly resolve: (client: StoreClient) => void;
  readonly reject: (error: Error) => void;
  /** Rounds over all hosts that may still fail; undefined: any number. */
  roundsLeft: number | undefined;
}

/**
 * The connection for all that does not block. It comes back by itself: tries each host once a round, waits longer after each
 * failed round, and tells its users when it is there and when it is gone.
 */
export class StoreConnection {
  readonly users: Set<ConnectionUser> = new Set();
  readonly clock: StoreClock = new StoreClock();
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  readonly #hooks: ConnectionHooks;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #backoff: Backoff;
  /** Each is tried by itself; Sentinels and the nodes of a cluster are asked one after the other within one try. */
  #targets: readonly (readonly StoreHost[])[];
  #state: ConnectionState = 'idle';
  #client: StoreClient | undefined;
  #running: Promise<void> | undefined;
  /** Of the last attempt, while there is none that has succeeded. */
  #lastError: Error | undefined;
  #cause: Error | undefined;

  constructor(settings: RedisSettings, logger: Logger, hooks: ConnectionHooks) {
    this.#settings = settings;
    this.#logger = logger;
    this.#hooks = hooks;
    this.#backoff = new Backoff(settings);
    setMaxListeners(0, this.#closing.signal); // as many as there are sends that wait
    const hosts = settings.shuffleHosts ? shuffled(settings.hosts) : settings.hosts;
    this.#targets = settings.layout === 'servers' ? hosts.map((host) => [host]) : [hosts];
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Why it is not connected: what went wrong last. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Aborted when it is closed. */
  get whileOpen(): AbortSignal {
    return this.#closing.signal;
  }

  /** The client of now, if there is one. */
  get client(): StoreClient | undefined {
    return this.#client?.isLost === false ? this.#client : undefined; // it may be lost, and nobody told yet
  }

  /** Begins to connect, and never gives up until it is closed. */
  open(): void {
    this.#running ??= this.#run();
  }

  /**
   * Resolves with the client; rejects at the deadline, after `retry` further failed rounds, when the store refuses the
   * credentials, or when the connection is closed.
   */
  async whenUp(deadline: Deadline, retry: number | undefined): Promise<StoreClient> {
    if (this.#state === 'closed') throw closedError(); // also while its end is awaited
    const { client } = this;
    if (client) return client;
    if (this.#lastError && (retry === 0 || this.#lastError instanceof AuthenticationError))
      throw this.#unreachable();
    let waiter: Waiter | undefined;
    const up = new Promise<StoreClient>((resolve, reject) => {
      waiter = { resolve, reject, roundsLeft: retry === undefined ? undefined : retry + 1 };
      this.#waiters.add(waiter);
    });
    try {
      return await within(up, { timeoutMs: deadline.remainingMs }, () => this.#unreachable());
    } finally {
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  /**
   * Resolves in bounded time when nothing of the connection is left.
   * @param orderly - wait for the answers to what was written
   */
  async close(orderly: boolean): Promise<void> {
    if (this.#state === 'closed') return;
    const client = this.#client;
    this.#change('closed');
    for (const waiter of this.#waiters) waiter.reject(closedError());
    this.#waiters.clear();
    this.#closing.abort();
    if (client && orderly) await lastAnswers(client);
    client?.end(closedError());
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const client = await this.#round();
      if (client) await this.#pause(this.#backoff.next(await this.#hold(client)));
      else if (this.#lastError instanceof AuthenticationError) await this.#pause(this.#backoff.longest());
      else await this.#pause(this.#backoff.next(0));
    }
  }

  /** Tries every host once, until one lets us in: that one is the last to be tried after a loss. */
  async #round(): Promise<StoreClient | undefined> {
    let refusal: AuthenticationError | undefined;
    for (const [index, hosts] of this.#targets.entries()) {
      if (this.#closing.signal.aborted) return undefined;
      this.#change('connecting');
      try {
        const client = await openCommands(this.#settings, hosts, this.clock, this.#closing.signal);
        this.#targets = [...this.#targets.slice(index + 1), ...this.#targets.slice(0, index), hosts];
        return client;
      } catch (error) {
        const failure = this.#failedAt(hosts, error);
        this.#targets = this.#targets.map((one) => (one === hosts ? nextFirst(hosts) : one));
        if (failure instanceof AuthenticationError) refusal ??= failure;
        else this.#lastError = failure;
      }
    }
    if (refusal) this.#lastError = refusal;
    this.#roundFailed(refusal);
    return undefined;
  }

  /** Serves its users until it is lost; resolves with how long it held. */
  async #hold(client: StoreClient): Promise<number> {
    if (this.#closing.signal.aborted) {
      client.end(undefined); // it came while we were closed
      return 0;
    }
    const since = performance.now();
    const heartbeat = setInterval(() => void this.#beat(client), this.#settings.heartbeatMs);
    this.#client = client;
    this.#lastError = undefined;
    this.#change('connected');
    for (const user of [...this.users]) user.onUp(client);
    for (const waiter of this.#waiters) waiter.resolve(client);
    const cause = await client.lost;
    clearInterval(heartbeat);
    this.#client = undefined;
    for (const user of [...this.users]) user.onDown(cause);
    this.#change('disconnected', cause); // unless closed
    return performance.now() - since;
  }

  /**
   * Answers come in order, so one that is missing means that the connection is dead, or that its bytes are out of step: then
   * there is no silence by which that is noticed. The question is that for the time, as clocks are set, and drift.
   */
  async #beat(client: StoreClient): Promise<void> {
    const late = (): Error => new ConnectionLostError('The store did not answer in time');
    try {
      await within(askTime(client, this.clock), { timeoutMs: this.#settings.commandTimeoutMs }, late);
    } catch (error) {
      if (error instanceof ConnectionLostError) client.end(error);
    }
  }

  #failedAt(hosts: readonly StoreHost[], error: unknown): Error {
    const cause = redactedCause(error);
    const place = hosts.map(({ hostname, port }) => `${hostname}:${String(port)}`).join(', ');
    const { ssl } = this.#settings;
    const text = `Cannot connect to ${place}: ${(ssl && tlsReason(error, ssl)) ?? cause.message}`;
    const failure =
      refusalOf(error) === 'denied'
        ? new AuthenticationError(text, { cause })
        : new MessageDeliveryError(text, { cause });
    if (this.#closing.signal.aborted) return failure;
    this.#logger.warn({ hosts: place }, text);
    this.#change('disconnected', failure);
    return failure;
  }

  /** Refused credentials are told at once: waiting for them is of no use. */
  #roundFailed(refusal: AuthenticationError | undefined): void {
    for (const waiter of this.#waiters) {
      if (refusal) waiter.reject(refusal);
      if (waiter.roundsLeft === undefined) continue;
      waiter.roundsLeft -= 1;
      if (waiter.roundsLeft <= 0) waiter.reject(this.#unreachable());
    }
  }

  #unreachable(): Error {
    if (this.#lastError instanceof AuthenticationError) return this.#lastError;
    const cause = this.#lastError ?? this.#cause;
    const why = cause ? `: ${cause.message}` : '';
    return new MessageDeliveryError(`Not connected to the store${why}`, { cause });
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined); // closed meanwhile
  }

  #change(state: ConnectionState, cause?: Error): void {
    if (this.#state === 'closed' || this.#state === state) return;
    this.#state = state;
    this.#cause = state === 'connected' ? undefined : (cause ?? this.#cause);
    this.#hooks.changed(state, cause);
  }
}

/** Nothing was sent. */
export function closedError(): TransportClosedError {
  return new TransportClosedError('The transport was closed');
}

/** Answers come in the order of the commands: when this one is answered, all before it were. */
async function lastAnswers(client: StoreClient): Promise<void> {
  const late = (): Error => new Error('late');
  await within(client.call('ping', []), { timeoutMs: LAST_ANSWERS_MS }, late).catch(() => undefined);
}

/** Sentinels that hang can take all the time of a try: the next one begins with another. */
function nextFirst(hosts: readonly StoreHost[]): readonly StoreHost[] {
  return [...hosts.slice(1), ...hosts.slice(0, 1)];
}

function shuffled<T>(list: readonly T[]): T[] {
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [copy[at], copy[other]] = [copy[other] as T, copy[at] as T]; // both within the list
  }
  return copy;
}
