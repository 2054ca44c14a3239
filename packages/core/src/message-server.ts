import { DeliveryRunner } from './delivery-runner.js';
import type { HandledAs } from './diagnostics.js';
import { asDriverFailure } from './driver-failure.js';
import type { Delivery, Listener, Source } from './driver.js';
import { MessagingTimeoutError, ServerListenError, ServerWaitTimeoutError } from './errors.js';
import { Intake } from './intake.js';
import { Lifecycle, type ServerState } from './lifecycle.js';
import type { LateHandler, MessageHandler } from './message-handler.js';
import { checkServerOptions, type MessageServerOptions } from './message-server-options.js';
import { errorText, redactedCause } from './redact.js';
import { type SourceNames, sourceNames } from './source-names.js';
import type { Transport } from './transport.js';
import { within, type WaitOptions } from './within.js';

/** What `wait()` resolves with. */
export interface WaitReport {
  /** What could not be confirmed with the broker, in words; empty after an orderly end. */
  readonly unconfirmed: readonly string[];
}

/** Counts since the server was made; `redelivered`: how many of those that ran the broker had delivered before. */
export type ServerCounts = Readonly<Record<HandledAs | 'redelivered', number>>;

/**
 * Takes messages from a source and gives them to a handler, at most `slots` at a time, each accepted when its handler
 * starts and not before (at most once), or, with a {@link LateHandler}, when it has ended (at least once). Stops without breaking what it has taken:
 *
 * - `start()` resolves when messages can arrive;
 * - `stop()` resolves when the broker sends no more; what was fetched before still runs;
 * - `wait()` resolves when the last handler has finished, its reply and its acknowledgement are out.
 *
 * All three may be called in any order, at any time, by any number of callers; each phase runs once (CORE-01). Closing the
 * transport stops the server as well.
 */
export class MessageServer<Request> {
  /** What it listens to. */
  readonly source: Source;
  readonly #names: SourceNames;
  readonly #transport: Transport;
  readonly #options: Required<MessageServerOptions>;
  readonly #runner: DeliveryRunner<Request>;
  readonly #intake: Intake;
  readonly #lifecycle: Lifecycle;
  #listener: Listener | undefined;
  #leaveTransport: () => void = () => undefined;
  #unconfirmed: readonly string[] = [];

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown or bad option. */
  constructor(
    transport: Transport,
    source: Source,
    handler: MessageHandler<Request> | LateHandler<Request>,
    options: MessageServerOptions = {},
  ) {
    this.source = source;
    this.#names = sourceNames(source);
    this.#transport = transport;
    this.#options = checkServerOptions(options);
    const parts = { transport, names: this.#names, handler, options: this.#options };
    this.#intake = new Intake({
      pause: () => {
        void this.#mind(() => this.#listener?.pause());
      },
      resume: () => {
        if (this.state === 'listening') void this.#mind(() => this.#listener?.resume());
      },
    });
    this.#runner = new DeliveryRunner(parts, this.#intake);
    this.#lifecycle = new Lifecycle({
      open: () => this.#open(),
      halt: () => this.#halt(),
      finish: () => this.#finish(),
    });
  }

  /** Where it is between `start()` and the end of `wait()`. */
  get state(): ServerState {
    return this.#lifecycle.state;
  }

  /** Handlers that run. */
  get running(): number {
    return this.#runner.running;
  }

  /** Fetched messages that wait for a slot. */
  get waiting(): number {
    return this.#runner.waiting;
  }

  /** What became of the messages that it was given; a copy. */
  get counts(): ServerCounts {
    return { ...this.#runner.counts };
  }

  /**
   * Resolves when a message sent by anyone is delivered here (or to a sibling). After `stop()` it first waits for that
   * cycle to end, then begins a new one.
   * @throws ServerListenError (`ERR_SERVER_LISTEN`) with the cause; `start()` may then be called again.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Resolves when the broker sends this server nothing more. Deletes no queue. Settles within the transport's
   * `sendTimeoutMs`, counted from the end of `start()`; what arrives all the same goes back.
   * @throws MessagingTimeoutError (`ERR_TIMEOUT`) when the broker has not confirmed it by then; `wait()` works all the same.
   */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /**
   * Resolves when everything taken is finished and its replies and acknowledgements are out; before `stop()` was called
   * it waits for that. At the time limit what has no slot yet goes back, and a later `wait()` works as before.
   * @throws ServerWaitTimeoutError (`ERR_WAIT_TIMEOUT`); the signal's reason when it aborts.
   */
  async wait(options: WaitOptions = {}): Promise<WaitReport> {
    await within(this.#lifecycle.wait(), options, () => this.#giveUp(options.timeoutMs ?? 0));
    return { unconfirmed: this.#unconfirmed };
  }

  /** Resolves when no handler runs and no fetched message waits for a slot; a drain waits for it. */
  whenIdle(): Promise<void> {
    return this.#runner.whenIdle();
  }

  async #open(): Promise<void> {
    // A transport that is closed delivers nothing more, and no timer of this server may outlive it (CORE-05).
    this.#leaveTransport = this.#transport.onClosing(() => {
      void this.#mind(() => this.stop());
    });
    this.#intake.begin();
    try {
      const { credit } = this.#runner;
      this.#listener = await this.#transport.listen(this.source, { credit }, (delivery) => {
        this.#onDelivery(delivery);
      });
      if (this.#intake.paused) void this.#mind(() => this.#listener?.pause()); // by what came meanwhile
    } catch (error) {
      throw new ServerListenError(`Cannot listen on ${this.#names.text}: ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  #onDelivery(delivery: Delivery): void {
    const { state } = this;
    if (state === 'listening' || state === 'starting') this.#runner.take(delivery);
    else this.#runner.release(delivery); // it arrived after stop() was called
  }

  async #halt(): Promise<void> {
    this.#intake.end();
    this.#runner.stopWatching();
    const stopped = this.#listener?.stop(); // first: what is given back must not come here again
    if (this.#options.fetched === 'release') this.#runner.releaseWaiting();
    this.#runner.releaseDelayed();
    if (stopped) await this.#inTime(stopped, 'that it sends no more');
  }

  async #finish(): Promise<void> {
    await this.whenIdle();
    this.#leaveTransport();
    const listener = this.#listener;
    this.#listener = undefined;
    this.#unconfirmed = listener ? await this.#close(listener) : [];
  }

  async #close(listener: Listener): Promise<readonly string[]> {
    try {
      return await this.#inTime(listener.close(), 'the end of the listener');
    } catch (error) {
      return [errorText(error)];
    }
  }

  /** A driver that does not keep its promise of bounded time must not keep a server from ending (AMQP-41). */
  async #inTime<T>(work: Promise<T>, what: string): Promise<T> {
    const { sendTimeoutMs: timeoutMs } = this.#transport;
    const unconfirmed = `The broker has not confirmed ${what}`;
    try {
      return await within(
        work,
        { timeoutMs },
        () => new MessagingTimeoutError(`${unconfirmed} within ${String(timeoutMs)} ms`),
      );
    } catch (error) {
      throw asDriverFailure(error, unconfirmed);
    }
  }

  /** What nobody waits for still has somebody who hears of its failure (CORE-11). */
  async #mind(what: () => Promise<void> | undefined): Promise<void> {
    try {
      await what();
    } catch (error) {
      this.#transport.reportError(redactedCause(error));
    }
  }

  #giveUp(timeoutMs: number): ServerWaitTimeoutError {
    const { running } = this;
    const ending = this.state === 'stopped' || this.state === 'stopping';
    const released = ending ? this.#runner.releaseWaiting() : 0;
    return new ServerWaitTimeoutError(
      `The server on ${this.#names.text} was not finished after ${String(timeoutMs)} ms: ${String(running)} handlers run, ` +
        `${String(released)} fetched messages were handed back`,
      { running, released },
    );
  }
}
