import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  AuthenticationError,
  type ConnectionState,
  type Deadline,
  type Logger,
  MessageDeliveryError,
  redactedCause,
  TransportClosedError,
  within,
} from '@ebbgate/core';
import { Backoff } from './backoff.js';
import type { ConnectionSettings, RabbitHost } from './options.js';
import { WaitingLine } from './waiting-line.js';

/** What comes and goes with the connection: channels and all that stands on them. */
export interface ConnectionUser<Model> {
  /** There is a connection, a new one. Must not reject. */
  onUp(model: Model): void;
  /** It is gone, and with it every channel. The cause has no secrets. */
  onDown(cause: Error): void;
}

/** What a connection tells. */
export interface ConnectionHooks {
  changed(state: ConnectionState, cause?: Error): void;
}

/** What differs between the protocols: how one connection is opened, watched and ended. */
export interface Dialect<Model> {
  /** One attempt to connect to one host, in bounded time; nothing is left of one that has failed. */
  open(host: RabbitHost, signal: AbortSignal): Promise<Model>;
  /** Resolves with the reason when it is lost, and nothing of it is left. It may be blocked from the first moment. */
  lost(model: Model, onBlocked: (cause: Error | undefined) => void): Promise<Error | undefined>;
  /** Asks the broker first, which has then processed all that was written; in bounded time, and never rejects. */
  close(model: Model): Promise<void>;
  /** At once. */
  end(model: Model): void;
  /** The broker refuses the credentials: asking again soon is of no use. */
  isRefused(error: unknown): boolean;
}

/** Somebody who waits for a connection. */
interface Waiter<Model> {
  readonly resolve: (model: Model) => void;
  readonly reject: (error: Error) => void;
  /** Rounds over all hosts that may still fail; undefined: any number. */
  roundsLeft: number | undefined;
}

/**
 * One connection that comes back by itself: tries each host once a round, waits longer after each failed round, and tells
 * its users when it is there and when it is gone.
 */
export class HeldConnection<Model> {
  readonly role: 'publish' | 'consume';
  readonly users: Set<ConnectionUser<Model>> = new Set();
  readonly #settings: ConnectionSettings;
  readonly #dialect: Dialect<Model>;
  readonly #logger: Logger;
  readonly #hooks: ConnectionHooks;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter<Model>>();
  readonly #backoff: Backoff;
  #hosts: readonly RabbitHost[];
  #state: ConnectionState = 'idle';
  #model: Model | undefined;
  #running: Promise<void> | undefined;
  /** Of the last attempt, while there is none that has succeeded. */
  #lastError: Error | undefined;
  #cause: Error | undefined;
  readonly #unblocked = new WaitingLine();

  constructor(
    role: 'publish' | 'consume',
    settings: ConnectionSettings,
    logger: Logger,
    hooks: ConnectionHooks,
    dialect: Dialect<Model>,
  ) {
    this.role = role;
    this.#settings = settings;
    this.#dialect = dialect;
    this.#logger = logger;
    this.#hooks = hooks;
    this.#backoff = new Backoff(settings);
    setMaxListeners(0, this.#closing.signal); // as many as there are sends that wait
    this.#hosts = settings.shuffleHosts ? shuffled(settings.hosts) : settings.hosts;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Why it is not connected, or blocked: what went wrong last. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Aborted when it is closed. */
  get whileOpen(): AbortSignal {
    return this.#closing.signal;
  }

  /** The connection of now, if there is one. */
  get model(): Model | undefined {
    return this.#model;
  }

  /** Begins to connect, and never gives up until it is closed. */
  open(): void {
    this.#running ??= this.#run();
  }

  /**
   * Resolves with the connection; rejects at the deadline, after `retry` further failed rounds, when the broker refuses
   * the credentials, or when the connection is closed.
   */
  async whenUp(deadline: Deadline, retry: number | undefined): Promise<Model> {
    if (this.#state === 'closed') throw closedError(); // also while its end is awaited
    if (this.#model) return this.#model;
    if (this.#lastError && (retry === 0 || this.#lastError instanceof AuthenticationError))
      throw this.#unreachable();
    let waiter: Waiter<Model> | undefined;
    const up = new Promise<Model>((resolve, reject) => {
      waiter = { resolve, reject, roundsLeft: retry === undefined ? undefined : retry + 1 };
      this.#waiters.add(waiter);
    });
    try {
      return await within(up, { timeoutMs: deadline.remainingMs }, () => this.#unreachable());
    } finally {
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  /** Resolves when the broker takes messages again, or when the connection is gone; rejects with what `late` makes. */
  whenUnblocked(deadline: Deadline, late: () => Error): Promise<void> {
    if (this.#state !== 'blocked') return Promise.resolve();
    return this.#unblocked.wait(deadline, 0, late);
  }

  /**
   * Resolves in bounded time when nothing of the connection is left.
   * @param orderly - ask the broker first, which has then processed all that was written
   */
  async close(orderly: boolean): Promise<void> {
    if (this.#state === 'closed') return;
    const model = this.#model;
    this.#change('closed');
    this.#closing.abort();
    for (const waiter of this.#waiters) waiter.reject(closedError());
    this.#waiters.clear();
    if (model && orderly) await this.#dialect.close(model);
    else if (model) this.#dialect.end(model);
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const model = await this.#round();
      if (model) await this.#pause(this.#backoff.afterLoss(await this.#hold(model)));
      else await this.#pause(this.#backoff.afterFailedRound(this.#lastError instanceof AuthenticationError));
    }
  }

  /** Tries every host once, until one lets us in: that one is the last to be tried after a loss. */
  async #round(): Promise<Model | undefined> {
    let refusal: AuthenticationError | undefined;
    for (const [index, host] of this.#hosts.entries()) {
      if (this.#closing.signal.aborted) return undefined;
      this.#change('connecting');
      try {
        const model = await this.#dialect.open(host, this.#closing.signal);
        const others = [...this.#hosts.slice(index + 1), ...this.#hosts.slice(0, index)];
        this.#hosts = [...this.#reordered(others), host];
        return model;
      } catch (error) {
        const failure = this.#failedAt(host, error);
        if (failure instanceof AuthenticationError) refusal ??= failure;
        else this.#lastError = failure;
      }
    }
    this.#hosts = this.#reordered(this.#hosts);
    if (refusal) this.#lastError = refusal;
    this.#roundFailed(refusal);
    return undefined;
  }

  #reordered(hosts: readonly RabbitHost[]): readonly RabbitHost[] {
    return this.#settings.failover === 'shuffle' ? shuffled(hosts) : hosts;
  }

  /** Serves its users until it is lost; resolves with how long it held. */
  async #hold(model: Model): Promise<number> {
    if (this.#closing.signal.aborted) {
      await this.#dialect.close(model); // it came while we were closed
      return 0;
    }
    const since = performance.now();
    const onBlocked = (cause: Error | undefined): void => {
      this.#change(cause ? 'blocked' : 'connected', cause);
    };
    this.#model = model;
    this.#lastError = undefined;
    const lost = this.#dialect.lost(model, onBlocked);
    if (this.#state !== 'blocked') this.#change('connected');
    for (const user of [...this.users]) user.onUp(model);
    for (const waiter of this.#waiters) waiter.resolve(model);
    const cause = redactedCause((await lost) ?? new Error('closed by the broker'));
    this.#model = undefined;
    for (const user of [...this.users]) user.onDown(cause);
    this.#change('disconnected', cause); // unless closed
    return performance.now() - since;
  }

  #failedAt(host: RabbitHost, error: unknown): Error {
    const cause = redactedCause(error);
    const text = `Cannot connect to ${host.hostname}:${String(host.port)}: ${cause.message}`;
    const failure = this.#dialect.isRefused(error)
      ? new AuthenticationError(text, { cause })
      : new MessageDeliveryError(text, { cause });
    if (this.#closing.signal.aborted) return failure;
    this.#logger.warn({ host: host.hostname, port: host.port, role: this.role }, text);
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
    return new MessageDeliveryError(`Not connected to the broker${why}`, { cause });
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined); // closed meanwhile
  }

  #change(state: ConnectionState, cause?: Error): void {
    if (this.#state === 'closed' || this.#state === state) return;
    this.#state = state;
    this.#cause = state === 'connected' ? undefined : (cause ?? this.#cause);
    if (state !== 'blocked') this.#unblocked.letGo(Infinity);
    this.#hooks.changed(state, cause);
  }
}

/** Nothing was sent. */
export function closedError(): TransportClosedError {
  return new TransportClosedError('The transport was closed');
}

function shuffled<T>(list: readonly T[]): T[] {
  const copy = [...list];
  for (let at = copy.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [copy[at], copy[other]] = [copy[other] as T, copy[at] as T]; // both within the list
  }
  return copy;
}
