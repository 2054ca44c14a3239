import {
  AuthenticationError,
  ConfigurationError,
  type DriverEvents,
  type Listener,
  type ListenerStatus,
  RetryPause,
  type Source,
  sourceNames,
  within,
} from '@ebbgate/core';
import type { ConnectionUser, HeldConnection } from './held-connection.js';
import type { ConnectionSettings } from './options.js';

/** What the owner wants. What the broker does follows, when there is a connection. */
type Wish = 'listen' | 'pause' | 'stop' | 'closed';

/** Stopping and closing wait for the broker's confirmation at most so long. */
const CONFIRM_MS = 3_000;

/** One try at consuming: a channel or session, its consumers, and what they have brought and is not settled. */
export interface SourceSubscription<Model> {
  /** Something was settled of which the broker has not said that it has processed it. */
  readonly isUnsure: boolean;
  /** When it resolves a message sent by anyone arrives. */
  open(model: Model): Promise<void>;
  /** Consumes once more, after `cancel`; or takes `hold` back. */
  consume(): Promise<void>;
  /** Hands nothing over until `consume`, and leaves the consumers where they are. */
  hold(): void;
  /** Resolves when the broker has confirmed that it sends no more, or when the channel is gone. */
  cancel(): Promise<void>;
  /**
   * Ends it in order: the broker has processed every acknowledgement then. False when it did not say so.
   * @param forGood - what belongs to the listener alone is removed, too
   */
  close(forGood: boolean): Promise<boolean>;
}

/** What a listener is made of. */
export interface ListenerParts<Model> {
  readonly connection: HeldConnection<Model>;
  readonly settings: Pick<ConnectionSettings, 'retryIntervalMs' | 'intervalMaxMs'>;
  readonly events: Pick<DriverEvents, 'listener' | 'error'>;
  readonly source: Source;
  /** With its last user gone a queue would go, too: a pause leaves the consumers where they are. */
  readonly pausesByHolding: boolean;
  /** @param onLost - it is of no use any more; without a cause it went with its connection. Told once, not after `close`. */
  readonly subscription: (onLost: (cause: Error | undefined) => void) => SourceSubscription<Model>;
  /** The error of the family for one of the client library. */
  readonly asError: (error: unknown, doing: string) => Error;
  readonly onClosed: () => void;
}

/** The consumers of a source. They come back after the loss of their channel, their connection, or a cancel by the broker. */
export class SourceListener<Model> implements Listener, ConnectionUser<Model> {
  readonly #parts: ListenerParts<Model>;
  /** Ends the pause before the next try. */
  #retry = new AbortController();
  #wish: Wish = 'listen';
  #subscription: SourceSubscription<Model> | undefined;
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
  readonly #first: {
    readonly promise: Promise<void>;
    readonly resolve: () => void;
    readonly reject: (error: unknown) => void;
  };

  constructor(parts: ListenerParts<Model>) {
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

  onUp(_model: Model): void {
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
      const isConsuming = await subscription.consume().then(
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
    const { source } = this.#parts;
    const closing = async (): Promise<boolean> => {
      await this.#subscribing?.catch(() => undefined);
      if (wish !== 'stop') await this.#subscription?.cancel(); // a pause may have left them
      return (await this.#subscription?.close(true)) ?? !this.#unsure;
    };
    const work = closing();
    const isConfirmed = !this.#silent && (await this.#confirmed(() => work));
    if (this.#silent) void work.catch(() => undefined);
    this.#subscribed = false;
    this.#parts.onClosed();
    const { text } = sourceNames(source);
    return isConfirmed
      ? []
      : [`The broker did not confirm the acknowledgements and the end of the consumers for ${text}`];
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
      if (this.#wish === 'pause' && this.#parts.pausesByHolding) this.#subscription?.hold();
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

  async #subscribe(model: Model): Promise<void> {
    const { connection } = this.#parts;
    const subscription = this.#parts.subscription((cause) => {
      this.#onLost(subscription, cause);
    });
    this.#subscription = subscription;
    try {
      await subscription.open(model);
      this.#pause.succeeded();
      this.#unsure = false;
      this.#subscribed = true;
      this.#started = true;
      this.#first.resolve();
      this.#tell(undefined);
    } catch (error) {
      if (this.#subscription === subscription) this.#subscription = undefined;
      await subscription.close(false);
      if (connection.model === model) await this.#failed(error);
    }
  }

  /** The broker has refused: final for a start, else tried again, each time later. */
  async #failed(error: unknown): Promise<void> {
    const failure = this.#parts.asError(error, `Cannot consume for ${sourceNames(this.#parts.source).text}`);
    const isFinal = failure instanceof ConfigurationError || failure instanceof AuthenticationError;
    if (isFinal && !this.#started) this.#first.reject(failure);
    else this.#parts.events.error(failure);
    await this.#pauseBeforeRetry();
  }

  #onLost(subscription: SourceSubscription<Model>, cause: Error | undefined): void {
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
