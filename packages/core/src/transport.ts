import { setMaxListeners } from 'node:events';
import { Deadline } from './deadline.js';
import type {
  ConnectionState,
  Delivery,
  Destination,
  Driver,
  DriverFactory,
  DriverStatus,
  ListenOptions,
  Listener,
  MaybePromise,
  PublishOptions,
  ReplyQueue,
  Source,
} from './driver.js';
import { driverEvents } from './driver-events.js';
import { asDriverFailure, asTold } from './driver-failure.js';
import { listenWith } from './listen-with.js';
import { MessagingTimeoutError, TransportClosedError, type MessagingError } from './errors.js';
import { TypedEvents } from './events.js';
import type { DriverFeatures } from './features.js';
import type { Logger } from './logger.js';
import type { WireMessage } from './message.js';
import { PendingSends } from './pending-sends.js';
import { redactedCause } from './redact.js';
import { tellNotSent, tellSent } from './send-diagnostics.js';
import { closeLate, LastCause } from './too-late.js';
import type { TransportEvents } from './transport-events.js';
import type { TransportOptions } from './transport-options.js';
import type { TransportUrl } from './transport-url.js';
import { within } from './within.js';

/** In these states a send waits. */
const AWAY: ReadonlySet<ConnectionState> = new Set(['connecting', 'disconnected', 'blocked']);

/** `idle` until first used; `open` as long as it may be used, also while the broker is away. */
export type TransportState = 'idle' | 'opening' | 'open' | 'closing' | 'closed';

/**
 * The way to one broker: owns a driver and its life. A process needs one for each broker; clients and servers share it.
 * It connects when first used, or by `connect()`.
 */
export class Transport {
  /** Without credentials. */
  readonly url: string;
  /** The exchange of targets that name none. */
  readonly controlExchange: string;
  /** Longest wait for the broker where the sender gave no deadline. */
  readonly sendTimeoutMs: number;
  /** Where the transport and all that is built on it logs. */
  readonly logger: Logger;
  /** What happens to the connection and to messages that nobody asks about. */
  readonly events: TypedEvents<TransportEvents>;
  readonly #driver: Driver;
  readonly #pending: PendingSends;
  readonly #lastCause = new LastCause();
  readonly #onClosing = new Set<(error: TransportClosedError) => void>();
  /** Aborted when `close()` begins: ends what waits for the driver. */
  readonly #whileOpen = new AbortController();
  #state: TransportState = 'idle';
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @internal Made by {@link createTransport}, from checked options. */
  constructor(url: TransportUrl, factory: DriverFactory, options: Required<TransportOptions>) {
    this.url = url.toString();
    this.controlExchange = options.controlExchange;
    this.sendTimeoutMs = options.sendTimeoutMs;
    this.#pending = new PendingSends(options.maxPendingSends, options.maxPendingBytes);
    this.logger = options.logger;
    this.events = new TypedEvents((error, event) => {
      this.logger.error({ err: redactedCause(error), event }, 'A listener of the transport failed');
    });
    setMaxListeners(0, this.#whileOpen.signal); // as many as there are servers that start at the same time
    this.#driver = factory.create(url, { logger: this.logger, events: driverEvents(this, this.#lastCause) });
  }

  /** Whether it can be used. */
  get state(): TransportState {
    return this.#state;
  }

  /** What the driver can do. */
  get features(): DriverFeatures {
    return this.#driver.features;
  }

  /** Milliseconds for which a reply is sent again when the queue of its caller is missing. */
  get replyRetryMs(): number {
    return this.#driver.replyRetryMs ?? 60_000; // oslo.messaging's `kombu_missing_consumer_retry_timeout`
  }

  /** Messages that wait to be taken by the broker. */
  get pendingSends(): number {
    return this.#pending.count;
  }

  /**
   * Whether the broker is there, or why not, and for every listener whether the broker has confirmed it (AMQP-08).
   */
  status(): DriverStatus {
    const status = this.#driver.status();
    return status.cause ? { ...status, cause: asTold(status.cause) } : status;
  }

  /**
   * Resolves when the broker can be used.
   * @throws AuthenticationError; MessageDeliveryError (`ERR_DELIVERY`) when that takes longer than `sendTimeoutMs`, with the
   * last reason in its text and as its cause; TransportClosedError.
   */
  connect(): Promise<void> {
    if (this.#state === 'open') return Promise.resolve();
    if (this.#state === 'closing' || this.#state === 'closed') return Promise.reject(this.#closedError());
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /**
   * Sends one message; for drivers, dispatchers and tests: `@ebbgate/rpc` has calls and casts.
   * Throws or rejects with what {@link Driver.publish} names.
   */
  publish(destination: Destination, message: WireMessage, options: PublishOptions): MaybePromise<void> {
    let sent: MaybePromise<void>;
    try {
      const isOpen = this.#state === 'open';
      if (this.#pending.count > 0 || !isOpen || this.#mustNotWait) this.#pending.checkRoom(message);
      sent = isOpen
        ? this.#driver.publish(destination, message, options)
        : this.#publishFirst(destination, message, options);
    } catch (error) {
      throw this.#sendFailed(error, destination, message);
    }
    if (sent !== undefined) return this.#follow(sent, destination, message);
    tellSent(destination, message);
  }

  /**
   * Listens on a source; for message servers. Rejects with ConfigurationError (`ERR_CONFIGURATION`) for notifications with
   * a driver that has none.
   * @throws Rejects with MessageDeliveryError (`ERR_DELIVERY`) when the broker has not confirmed it within `sendTimeoutMs`,
   * AuthenticationError, TransportClosedError.
   */
  async listen(
    source: Source,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    await this.connect();
    const listening = this.#ask(() => listenWith(this.#driver, source, options, onDelivery));
    return this.#inTime(listening, 'The broker did not confirm the subscription');
  }

  /** Opens an address for replies; `@ebbgate/rpc` keeps one per transport. Rejects as {@link Transport.listen} does. */
  async openReplyQueue(onReply: (message: WireMessage) => void): Promise<ReplyQueue> {
    await this.connect();
    const opening = this.#ask(() => this.#driver.openReplyQueue(onReply));
    return this.#inTime(opening, 'The broker did not confirm the reply queue');
  }

  /** Calls `handler` once, at the moment `close()` begins: what waits on this transport must be told. */
  onClosing(handler: (error: TransportClosedError) => void): () => void {
    this.#onClosing.add(handler);
    return () => this.#onClosing.delete(handler);
  }

  /** Ends everything: pending calls are rejected at once; when it resolves nothing of the transport is left. Never rejects. */
  close(): Promise<void> {
    return this.#closing ?? this.#beginClosing();
  }

  async #open(): Promise<void> {
    this.#state = 'opening';
    await Promise.resolve(); // first `#opening` is set: what listens to events may call connect() again from within
    try {
      const connecting = this.#ask(() => this.#driver.connect(Deadline.after(this.sendTimeoutMs)));
      await this.#inTime(connecting, 'Not connected to the broker');
      if (this.state === 'opening') this.#state = 'open';
    } catch (error) {
      if (this.state === 'opening') this.#state = 'idle';
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }

  #beginClosing(): Promise<void> {
    this.#state = 'closing';
    this.#closing = Promise.resolve().then(() => this.#close()); // set first: who is told may call close() again
    const error = this.#closedError();
    this.#whileOpen.abort(error);
    for (const tell of [...this.#onClosing]) {
      try {
        tell(error);
      } catch (failure) {
        this.reportError(redactedCause(failure));
      }
    }
    this.#onClosing.clear();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { sendTimeoutMs: timeoutMs } = this;
    const late = (): Error =>
      new MessagingTimeoutError(`The driver was not closed within ${String(timeoutMs)} ms`);
    try {
      await within(this.#driver.close(), { timeoutMs }, late);
    } catch (error) {
      this.reportError(asDriverFailure(error, 'The driver did not close in order'));
    }
    this.#state = 'closed';
  }

  /** Asks the driver for something, unless the transport has been closed meanwhile. */
  async #ask<T>(what: () => Promise<T>): Promise<T> {
    if (this.#whileOpen.signal.aborted) throw this.#closedError();
    return what();
  }

  /** What the driver gives, by the time limit and while the transport is open; what comes later is closed. */
  async #inTime<T>(work: Promise<T>, otherwise: string): Promise<T> {
    const { sendTimeoutMs: timeoutMs } = this;
    const { signal } = this.#whileOpen;
    try {
      return await within(work, { timeoutMs, signal }, () =>
        this.#late(`${otherwise} within ${String(timeoutMs)} ms`),
      );
    } catch (error) {
      work.then(closeLate, () => undefined); // nobody else is left who could
      throw asDriverFailure(error, otherwise);
    }
  }

  #late(text: string): Error {
    return this.#lastCause.late(text, this.#driver.status());
  }

  get #mustNotWait(): boolean {
    return this.#pending.most === 0 && AWAY.has(this.#driver.status().connection);
  }

  #closedError(): TransportClosedError {
    return new TransportClosedError(`The transport ${this.url} is closed`);
  }

  /**
   * {@link Transport.connect} for one send: bounded by its deadline and, where the driver can count attempts, by its retry
   * (AMQP-19).
   * @throws MessageDeliveryError (`ERR_DELIVERY`), and what `connect` names.
   */
  async reach(deadline: Deadline, retry: number | undefined): Promise<void> {
    const connecting = this.connect();
    const late = (): Error => this.#late('Not connected to the broker before the deadline');
    const limited = retry === undefined ? undefined : this.#driver.reach?.(deadline, retry);
    const reached = limited ? Promise.all([limited, connecting]) : connecting;
    connecting.catch(() => undefined); // whoever waits for it longer is told
    await within(Promise.resolve<unknown>(reached), { timeoutMs: deadline.remainingMs }, late);
  }

  /** Connecting counts: deadline and retry of the send bound it (AMQP-19). */
  async #publishFirst(
    destination: Destination,
    message: WireMessage,
    options: PublishOptions,
  ): Promise<void> {
    await this.reach(options.deadline, options.retry);
    await this.#ask(async () => this.#driver.publish(destination, message, options));
  }

  /** One promise for all that is due afterwards: this is done once a message. */
  #follow(sent: Promise<void>, destination: Destination, message: WireMessage): Promise<void> {
    const { size } = message.body;
    this.#pending.enter(size);
    return sent.then(
      () => {
        this.#pending.leave(size);
        tellSent(destination, message);
      },
      (error: unknown) => {
        this.#pending.leave(size);
        throw this.#sendFailed(error, destination, message);
      },
    );
  }

  #sendFailed(cause: unknown, destination: Destination, message: WireMessage): MessagingError {
    const error = asDriverFailure(cause, 'The message was not sent');
    tellNotSent(destination, message, error);
    return error;
  }

  /** A failure that belongs to no operation: to the `error` event, or, when nobody listens, to the log. */
  reportError(error: Error): void {
    if (this.events.has('error')) this.events.emit('error', error);
    else this.logger.error({ err: error, url: this.url }, error.message);
  }
}
