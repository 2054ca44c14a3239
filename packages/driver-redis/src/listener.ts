import {
  AuthenticationError,
  type Delivery,
  type DriverEvents,
  type Listener,
  type ListenerStatus,
  type Logger,
  RetryPause,
  secretId,
  type Source,
  sourceNames,
  within,
} from '@ebbgate/core';
import { consumerName, type Keys } from './keys.js';
import { LostSubscriptions } from './lost-subscriptions.js';
import { openClient } from './open-client.js';
import type { RedisSettings } from './options.js';
import { sourceKeys, type SourceKeys } from './source-keys.js';
import type { StoreClient } from './store-client.js';
import { closedError, type ConnectionUser, type StoreConnection } from './store-connection.js';
import { asStoreError, refusalOf } from './store-errors.js';
import { Subscription } from './subscription.js';

/** What the owner wants. What happens at the store follows, when there is a connection. */
type Wish = 'listen' | 'pause' | 'stop' | 'closed';

/** Stopping and closing wait for the store's confirmation at most so long. */
const CONFIRM_MS = 3_000;

/** What a listener is made of. */
export interface ListenerParts {
  readonly connection: StoreConnection;
  readonly settings: RedisSettings;
  readonly keys: Keys;
  readonly events: DriverEvents;
  readonly logger: Logger;
  readonly source: Source;
  readonly credit: number;
  readonly onDelivery: (delivery: Delivery) => void;
  readonly onClosed: () => void;
}

/** The reader of a source. It comes back after the loss of its connection, or of its lease. */
export class RedisListener implements Listener, ConnectionUser {
  readonly #parts: ListenerParts;
  readonly #id = secretId();
  readonly #keys: SourceKeys;
  readonly #pause: RetryPause;
  /** Ends the pause before the next try. */
  #retry = new AbortController();
  /** Aborted when it is closed. */
  readonly #open = new AbortController();
  #wish: Wish = 'listen';
  #times = 0;
  #subscription: Subscription | undefined;
  /** Those before it whose end the store has not confirmed. */
  readonly #lost: LostSubscriptions;
  /** The store has confirmed it. */
  #subscribed = false;
  /** It has been confirmed once. */
  #started = false;
  #subscribing: Promise<void> | undefined;
  #quieting: Promise<void> | undefined;
  #silent = false;
  readonly #first: {
    readonly promise: Promise<void>;
    readonly resolve: () => void;
    readonly reject: (error: unknown) => void;
  };

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#keys = sourceKeys(parts.keys, parts.source, this.#id);
    this.#pause = new RetryPause(parts.settings);
    this.#lost = new LostSubscriptions(parts.settings.leaseMs, () => {
      if (this.#wish === 'closed') parts.connection.users.delete(this);
    });
    let resolve: () => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const promise = new Promise<void>((onDone, onFailed) => {
      resolve = onDone;
      reject = onFailed;
    });
    promise.catch(() => undefined); // also heard by ready()
    this.#first = { promise, resolve, reject };
    parts.connection.users.add(this);
    this.#pursue();
  }

  get status(): ListenerStatus {
    return { source: this.#parts.source, subscribed: this.#subscribed && this.#wish === 'listen' };
  }

  /** The store did not answer in time: it is not asked again. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Resolves when messages can arrive; rejects when they never will: no permission. */
  ready(): Promise<void> {
    return this.#first.promise;
  }

  onUp(): void {
    this.#pursue();
  }

  onDown(cause: Error): void {
    this.#subscription?.lose(cause);
  }

  stop(): Promise<void> {
    if (this.#wish !== 'closed') this.#wish = 'stop';
    return this.#beQuiet();
  }

  pause(): Promise<void> {
    if (this.#wish === 'listen') this.#wish = 'pause';
    return this.#beQuiet();
  }

  /** By the same consumer, if it is still there: what was fetched before stays with its owner. */
  async resume(): Promise<void> {
    if (this.#wish !== 'pause') return;
    this.#wish = 'listen';
    await this.#quieting;
    if (this.state() !== 'listen') return;
    if (this.#subscription && !this.#subscribing) {
      this.#subscription.read();
      this.#subscribed = true;
      this.#tell(undefined);
      return;
    }
    this.#pursue();
    const late = (): Error => new Error('late');
    await within(this.#whenSubscribed(), { timeoutMs: CONFIRM_MS }, late).catch(() => undefined); // it comes by itself
  }

  /** Or when there is no connection for that. */
  async #whenSubscribed(): Promise<void> {
    while (this.#subscribing && !this.#subscribed) await this.#subscribing;
  }

  async close(): Promise<readonly string[]> {
    if (this.#wish === 'closed') return [];
    this.#wish = 'closed';
    this.#retry.abort();
    this.#open.abort();
    this.#first.reject(closedError());
    const isConfirmed = !this.#silent && (await this.#confirmed(() => this.#end()));
    if (isConfirmed) this.#parts.connection.users.delete(this);
    else this.#subscription?.lose(closedError()); // given back by the next connection, or when its lease is over
    this.#lost.giveUp();
    this.#subscribed = false;
    this.#parts.onClosed();
    const { text } = sourceNames(this.#parts.source);
    return isConfirmed
      ? []
      : [`The store did not confirm the acknowledgements and the end of the reader for ${text}`];
  }

  /** What was lost on the way is given back, too, if there is a connection. */
  async #end(): Promise<boolean> {
    await this.#subscribing;
    const { client } = this.#parts.connection;
    if (!client) return !this.#subscription && this.#lost.isEmpty;
    await this.#lost.retire(client, 'closed');
    await this.#subscription?.close(client);
    return true;
  }

  /** No more messages: what was fetched can still be settled, so the subscription stays. */
  #beQuiet(): Promise<void> {
    this.#retry.abort();
    this.#subscribed = false;
    this.#quieting = this.#quiet();
    return this.#quieting;
  }

  async #quiet(): Promise<void> {
    this.#silent = false;
    const isQuiet = await this.#confirmed(async () => {
      await this.#subscribing;
      await this.#subscription?.rest();
      return true;
    });
    if (!isQuiet && this.state() !== 'listen')
      this.#subscription?.lose(new Error('The store did not end the read'));
    this.#subscribed = false;
    this.#tell(undefined);
  }

  /** What is wanted now; a method, as it changes while others are awaited. */
  state(): Wish {
    return this.#wish;
  }

  /** Subscribes when that is wanted, possible and not under way; while paused, too, as fanouts are to wait for us. */
  #pursue(): void {
    const { client } = this.#parts.connection;
    if (this.#subscribing || this.#subscription || !client) return;
    if ((this.#wish === 'stop' || this.#wish === 'closed') && this.#lost.isEmpty) return;
    this.#subscribing = this.#subscribe(client).finally(() => {
      this.#subscribing = undefined;
      if (!this.#subscription) this.#pursue();
    });
  }

  /** Never rejects. */
  async #subscribe(client: StoreClient): Promise<void> {
    try {
      await this.#lost.retire(client, this.#wish === 'closed' ? 'closed' : 'lost');
      if (this.#wish === 'listen' || this.#wish === 'pause') await this.#openSubscription(client);
    } catch (error) {
      if (this.#parts.connection.client !== client) return;
      if (this.#open.signal.aborted && this.#lost.isEmpty) return;
      await this.#failed(error);
    }
  }

  async #openSubscription(client: StoreClient): Promise<void> {
    const { connection, settings, logger, credit, onDelivery } = this.#parts;
    const { signal } = this.#open;
    const reader = await openClient(settings, client.hosts, 'reader', signal);
    this.#times += 1;
    const onLost = (cause: Error): void => {
      this.#onLost(subscription, cause);
    };
    const subscription = new Subscription({
      ...{ connection, settings, logger, keys: this.#keys, listener: this.#id, credit },
      consumer: consumerName(this.#keys.reader, this.#id, this.#times),
      hooks: { onDelivery, onLost },
    });
    this.#subscription = subscription;
    try {
      await subscription.open(client, reader);
    } catch (error) {
      subscription.lose(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    if (this.state() === 'listen') subscription.read();
    this.#pause.succeeded();
    this.#subscribed = true;
    this.#started = true;
    this.#first.resolve();
    this.#tell(undefined);
  }

  /** The store has refused: final for a start, else tried again, each time later. */
  async #failed(error: unknown): Promise<void> {
    const failure = asStoreError(error, `Cannot listen for ${sourceNames(this.#parts.source).text}`);
    if (failure instanceof AuthenticationError && !this.#started) this.#first.reject(failure);
    else this.#parts.events.error(failure);
    await this.#pauseBeforeRetry();
  }

  #onLost(subscription: Subscription, cause: Error): void {
    if (this.#subscription !== subscription) return;
    this.#subscription = undefined;
    this.#lost.add(subscription);
    const wasTold = this.#subscribed;
    this.#subscribed = false;
    if (this.#wish === 'closed') return;
    if (wasTold) this.#tell(cause);
    if (refusalOf(cause) !== undefined)
      this.#parts.events.error(asStoreError(cause, 'The reading has ended'));
    // Without a connection it comes with the next one.
    if (this.#subscribing || !this.#parts.connection.client) return;
    this.#subscribing = this.#pauseBeforeRetry().finally(() => {
      this.#subscribing = undefined;
      this.#pursue();
    });
  }

  async #pauseBeforeRetry(): Promise<void> {
    this.#retry = new AbortController();
    await this.#pause.wait(this.#retry.signal);
  }

  #tell(cause: Error | undefined): void {
    this.#parts.events.listener(this.status, cause);
  }

  /** What the store confirms in time: false when it does not, or says no. */
  #confirmed(work: () => Promise<boolean>): Promise<boolean> {
    const late = (): Error => {
      this.#silent = true;
      return new Error('late');
    };
    return within(work(), { timeoutMs: CONFIRM_MS }, late).catch(() => false);
  }
}
