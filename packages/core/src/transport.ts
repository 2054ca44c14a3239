import { setMaxListeners } from 'node:events';
import { Deadline } from './deadline.js';
import { diagnostics } from './diagnostics.js';
import type {
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
  ServerSource,
} from './driver.js';
import { driverEvents } from './driver-events.js';
import { asDriverFailure } from './driver-failure.js';
import {
  BackpressureError,
  MessageDeliveryError,
  MessagingTimeoutError,
  TransportClosedError,
  type MessagingError,
} from './errors.js';
import { TypedEvents } from './events.js';
import type { DriverFeatures } from './features.js';
import type { Logger } from './logger.js';
import type { WireMessage } from './message.js';
import { redactedCause } from './redact.js';
import type { TransportEvents } from './transport-events.js';
import type { TransportOptions } from './transport-options.js';
import type { TransportUrl } from './transport-url.js';
import { within } from './within.js';

/** `idle` until first used; `open` as long as it may be used, also while the broker is away. */
export type TransportState = 'idle' | 'opening' | 'open' | 'closing' | 'closed';

/**
 * The way to one broker: owns a driver and its life. A process needs one for each broker; clients and servers share it.
 * It connects when first used, or by `connect()`.
 */
export class Transport {
  /** Without credentials. */
  readonly url: string;
  readonly controlExchange: string;
  readonly sendTimeoutMs: number;
  readonly logger: Logger;
  readonly events: TypedEvents<TransportEvents>;
  readonly #driver: Driver;
  readonly #maxPendingSends: number;
  readonly #maxPendingBytes: number;
  readonly #onClosing = new Set<(error: TransportClosedError) => void>();
  /** Aborted when `close()` begins: ends what waits for the driver. */
  readonly #whileOpen = new AbortController();
  #state: TransportState = 'idle';
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #pendingSends = 0;
  #pendingBytes = 0;

  /** @internal Made by {@link createTransport}, from checked options. */
  constructor(url: TransportUrl, factory: DriverFactory, options: Required<TransportOptions>) {
    this.url = url.toString();
    this.controlExchange = options.controlExchange;
    this.sendTimeoutMs = options.sendTimeoutMs;
    this.#maxPendingSends = options.maxPendingSends;
    this.#maxPendingBytes = options.maxPendingBytes;
    this.logger = options.logger;
    this.events = new TypedEvents((error, event) => {
      this.logger.error({ err: redactedCause(error), event }, 'A listener of the transport failed');
    });
    setMaxListeners(0, this.#whileOpen.signal); // as many as there are servers that start at the same time
    this.#driver = factory.create(url, { logger: this.logger, events: driverEvents(this) });
  }

  get state(): TransportState {
    return this.#state;
  }

  get features(): DriverFeatures {
    return this.#driver.features;
  }

  /** Messages that wait to be taken by the broker. */
  get pendingSends(): number {
    return this.#pendingSends;
  }

  /** Whether the broker is there, and for every listener whether the broker has confirmed it (AMQP-08). */
  status(): DriverStatus {
    return this.#driver.status();
  }

  /**
   * Resolves when the broker can be used.
   * @throws AuthenticationError, MessageDeliveryError, TransportClosedError
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
      if (this.#pendingSends > 0 || !isOpen) this.#checkRoom(message);
      sent = isOpen
        ? this.#driver.publish(destination, message, options)
        : this.#publishFirst(destination, message, options);
    } catch (error) {
      throw this.#sendFailed(error, destination, message);
    }
    if (sent !== undefined) return this.#follow(sent, destination, message);
    if (diagnostics.published.hasSubscribers) publishDiagnostic(destination, message);
  }

  /**
   * Listens on a source; for message servers.
   * @throws Rejects with MessageDeliveryError (`ERR_DELIVERY`) when the broker has not confirmed it within `sendTimeoutMs`,
   * AuthenticationError, TransportClosedError.
   */
  async listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener> {
    await this.connect();
    const listening = this.#ask(() => this.#driver.listen(source, options, onDelivery));
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
      return await within(
        work,
        { timeoutMs, signal },
        () => new MessageDeliveryError(`${otherwise} within ${String(timeoutMs)} ms`),
      );
    } catch (error) {
      work.then(closeLate, () => undefined); // nobody else is left who could
      throw asDriverFailure(error, otherwise);
    }
  }

  #closedError(): TransportClosedError {
    return new TransportClosedError(`The transport ${this.url} is closed`);
  }

  /** Connecting counts: the deadline of the send bounds it (AMQP-19). */
  async #publishFirst(
    destination: Destination,
    message: WireMessage,
    options: PublishOptions,
  ): Promise<void> {
    await within(
      this.connect(),
      { timeoutMs: options.deadline.remainingMs },
      () => new MessageDeliveryError('Not connected to the broker before the deadline'),
    );
    await this.#ask(async () => this.#driver.publish(destination, message, options));
  }

  #checkRoom(message: WireMessage): void {
    const bytes = this.#pendingBytes + message.body.size;
    if (this.#pendingSends < this.#maxPendingSends && bytes <= this.#maxPendingBytes) return;
    throw new BackpressureError(
      `${String(this.#pendingSends)} messages wait for the broker; the limits are ${String(this.#maxPendingSends)} ` +
        `messages (maxPendingSends) and ${String(this.#maxPendingBytes)} bytes (maxPendingBytes)`,
    );
  }

  async #follow(sent: Promise<void>, destination: Destination, message: WireMessage): Promise<void> {
    const { size } = message.body;
    this.#pendingSends += 1;
    this.#pendingBytes += size;
    try {
      await sent;
      if (diagnostics.published.hasSubscribers) publishDiagnostic(destination, message);
    } catch (error) {
      throw this.#sendFailed(error, destination, message);
    } finally {
      this.#pendingSends -= 1;
      this.#pendingBytes -= size;
    }
  }

  #sendFailed(cause: unknown, destination: Destination, message: WireMessage): MessagingError {
    const error = asDriverFailure(cause, 'The message was not sent');
    if (diagnostics.publishFailed.hasSubscribers) {
      const { id: messageId, body } = message;
      diagnostics.publishFailed.publish({ messageId, destination, size: body.size, error });
    }
    return error;
  }

  /** A failure that belongs to no operation: to the `error` event, or, when nobody listens, to the log. */
  reportError(error: Error): void {
    if (this.events.has('error')) this.events.emit('error', error);
    else this.logger.error({ err: error, url: this.url }, error.message);
  }
}

function publishDiagnostic(destination: Destination, message: WireMessage): void {
  diagnostics.published.publish({ messageId: message.id, destination, size: message.body.size });
}

/** A listener or a reply queue that came when nobody waited for it any more. */
async function closeLate(late: unknown): Promise<void> {
  if (typeof late !== 'object' || late === null || !('close' in late)) return;
  const { close } = late as { close: () => Promise<unknown> }; // both have this method
  try {
    await close.call(late);
  } catch {
    // Nobody is left who could do more.
  }
}
