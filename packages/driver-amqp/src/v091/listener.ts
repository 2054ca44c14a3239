import {
  AuthenticationError,
  ConfigurationError,
  type Delivery,
  type DriverEvents,
  type Listener,
  type ListenerStatus,
  RetryPause,
  type Source,
  sourceNames,
  within,
} from '@ebbgate/core';
import type { ChannelModel } from 'amqplib';
import { asBrokerError } from '../broker-errors.js';
import type { RabbitSettings } from '../options.js';
import type { SourceTopology } from '../topology.js';
import type { BrokerConnection, ConnectionUser } from './connection.js';
import { StreamOffsets } from './stream-offsets.js';
import { Subscription } from './subscription.js';

/** What the owner wants. What the broker does follows, when there is a connection. */
type Wish = 'listen' | 'pause' | 'stop' | 'closed';

/** Stopping and closing wait for the broker's confirmation at most so long. */
const CONFIRM_MS = 3_000;

/** What a listener is made of. */
export interface ListenerParts {
  readonly connection: BrokerConnection;
  readonly settings: RabbitSettings;
  readonly events: DriverEvents;
  readonly source: Source;
  readonly topology: SourceTopology;
  readonly credit: number;
  readonly onDelivery: (delivery: Delivery) => void;
  readonly onClosed: () => void;
}

/** The consumers of a source. They come back after the loss of their channel, their connection, or a cancel by the broker. */
export class RabbitListener implements Listener, ConnectionUser {
  readonly #parts: ListenerParts;
  /** Ends the pause before the next try. */
  #retry = new AbortController();
  #wish: Wish = 'listen';
  #subscription: Subscription | undefined;
  /** The broker has confirmed it. */
  #subscribed = false;
  /** It has been confirmed once. */
  #started = false;
  #subscribing: Promise<void> | undefined;
  readonly #pause: RetryPause;
  #quieting: Promise<void> | undefined;
  /** The broker has not answered the last request to stop. */
  #silent = false;
  /** The last channel was lost with what was settled on it, and no other has followed: the broker may have it or not. */
  #unsure = false;
  readonly #offsets = new StreamOffsets();
  readonly #first: {
    readonly promise: Promise<void>;
    readonly resolve: () => void;
    readonly reject: (error: unknown) => void;
  };

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    const { retryIntervalMs, intervalMaxMs } = parts.settings;
    this.#pause = new RetryPause({ retryIntervalMaxMs: Math.max(retryIntervalMs, intervalMaxMs) });
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

  /** The broker did not answer in time: it is not asked again. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Resolves when messages can arrive; rejects when they never will: a conflict, or no permission. */
  ready(): Promise<void> {
    return this.#first.promise;
  }

  onUp(_model: ChannelModel): void {
    this.#pursue();
  }

  onDown(): void {
    // the subscription hears of the end of its channel
  }

  stop(): Promise<void> {
    if (this.#wish !== 'closed') this.#wish = 'stop';
    return this.#beQuiet();
  }

  pause(): Promise<void> {
    if (this.#wish === 'listen') this.#wish = 'pause';
    return this.#beQuiet();
  }

  /** On the same channel, if it is still there: what was fetched before stays with its owner. */
  async resume(): Promise<void> {
    if (this.#wish !== 'pause') return;
    this.#wish = 'listen';
    await this.#quieting;
    const subscription = this.#subscription;
    if (!subscription) this.#pursue();
    else if (this.state() === 'listen') {
      const isConsuming = await subscription.consume(this.#parts.topology).then(
        () => true,
        () => false, // its channel says what is wrong
      );
      if (this.#subscription === subscription) this.#subscribed = isConsuming;
      this.#tell(undefined);
    }
  }

  /** What is wanted now; a method, as it changes while others are awaited. */
  state(): Wish {
    return this.#wish;
  }

  async close(): Promise<readonly string[]> {
    if (this.#wish === 'closed') return [];
    const wish = this.#wish;
    this.#wish = 'closed';
    this.#retry.abort();
    this.#parts.connection.users.delete(this);
    this.#first.reject(new Error('The listener was closed'));
    const { topology, source } = this.#parts;
    const closing = async (): Promise<boolean> => {
      await this.#subscribing?.catch(() => undefined);
      if (wish !== 'stop') await this.#subscription?.cancel(); // a pause may have left them
      return (await this.#subscription?.close(topology.privateQueue)) ?? !this.#unsure;
    };
    const work = closing();
    const isConfirmed = !this.#silent && (await this.#confirmed(() => work));
    if (this.#silent) void work.catch(() => undefined);
    this.#subscribed = false;
    this.#parts.onClosed();
    return isConfirmed
      ? []
      : [
          `The broker did not confirm the acknowledgements and the end of the consumers for ${sourceNames(source).text}`,
        ];
  }

  /** No more messages: what was fetched can still be settled, so the channel stays. */
  #beQuiet(): Promise<void> {
    this.#retry.abort();
    this.#subscribed = false;
    this.#quieting = this.#quiet();
    return this.#quieting;
  }

  async #quiet(): Promise<void> {
    this.#silent = false;
    await this.#confirmed(async () => {
      await this.#subscribing?.catch(() => undefined);
      if (this.#wish === 'pause' && this.#parts.settings.autoDelete) this.#subscription?.hold();
      else await this.#subscription?.cancel();
      this.#subscribed = false; // that of a subscription that came meanwhile, too
      return true;
    });
    this.#tell(undefined);
  }

  /** Subscribes when that is wanted, possible and not under way. */
  #pursue(): void {
    const { model } = this.#parts.connection;
    if (this.#wish !== 'listen' || this.#subscribing || this.#subscription || !model) return;
    this.#subscribing = this.#subscribe(model).finally(() => {
      this.#subscribing = undefined;
      if (!this.#subscription) this.#pursue();
    });
  }

  async #subscribe(model: ChannelModel): Promise<void> {
    const { topology, credit, onDelivery, connection, settings } = this.#parts;
    const onLost = (cause: Error | undefined): void => {
      this.#onLost(subscription, cause);
    };
    const subscription = new Subscription({
      credit,
      acceptance: settings.acceptance,
      offsets: this.#offsets,
      hooks: { onDelivery, onLost },
    });
    this.#subscription = subscription;
    try {
      await subscription.open(model, topology);
      this.#pause.succeeded();
      this.#unsure = false;
      this.#subscribed = true;
      this.#started = true;
      this.#first.resolve();
      this.#tell(undefined);
    } catch (error) {
      if (this.#subscription === subscription) this.#subscription = undefined;
      await subscription.close(undefined);
      if (connection.model === model) await this.#failed(error);
    }
  }

  /** The broker has refused: final for a start, else tried again, each time later. */
  async #failed(error: unknown): Promise<void> {
    const failure = asBrokerError(error, `Cannot consume for ${sourceNames(this.#parts.source).text}`);
    const isFinal = failure instanceof ConfigurationError || failure instanceof AuthenticationError;
    if (isFinal && !this.#started) this.#first.reject(failure);
    else this.#parts.events.error(failure);
    await this.#pauseBeforeRetry();
  }

  #onLost(subscription: Subscription, cause: Error | undefined): void {
    if (this.#subscription !== subscription) return;
    this.#subscription = undefined;
    this.#subscribed = false;
    this.#unsure = subscription.isUnsure;
    if (this.#wish !== 'listen') return;
    this.#tell(cause ?? new Error('The connection was lost'));
    // Without a cause it went with its connection: what comes next comes with the next one.
    if (!this.#subscribing && cause && this.#parts.connection.model) {
      this.#subscribing = this.#pauseBeforeRetry().finally(() => {
        this.#subscribing = undefined;
        this.#pursue();
      });
    }
  }

  async #pauseBeforeRetry(): Promise<void> {
    if (this.#wish !== 'listen') return;
    this.#retry = new AbortController();
    await this.#pause.wait(this.#retry.signal);
  }

  #tell(cause: Error | undefined): void {
    this.#parts.events.listener(this.status, cause);
  }

  /** What the broker confirms in time: false when it does not, or says no. */
  #confirmed(work: () => Promise<boolean>): Promise<boolean> {
    const late = (): Error => {
      this.#silent = true;
      return new Error('late');
    };
    return within(work(), { timeoutMs: CONFIRM_MS }, late).catch(() => false);
  }
}
