import type { Logger } from './logger.js';
import type { Deadline } from './deadline.js';
import type { DriverFeatures } from './features.js';
import type { WireMessage } from './message.js';
import type { TransportUrl } from './transport-url.js';

/** A result that is there already, or comes later: what costs no promise where none is needed. */
export type MaybePromise<T> = T | Promise<T>;

/** One of the servers that listen on the topic. */
export interface TopicDestination {
  readonly kind: 'topic';
  readonly exchange: string;
  readonly topic: string;
}

/** Exactly that server of the topic. */
export interface ServerDestination {
  readonly kind: 'server';
  readonly exchange: string;
  readonly topic: string;
  readonly server: string;
}

/** Every server of the topic that listens now. */
export interface FanoutDestination {
  readonly kind: 'fanout';
  readonly exchange: string;
  readonly topic: string;
}

/** The reply queue of a caller. */
export interface ReplyDestination {
  readonly kind: 'reply';
  readonly address: string;
}

/** Where a message goes. Names are any text: a driver encodes what its broker cannot hold. */
export type Destination = TopicDestination | ServerDestination | FanoutDestination | ReplyDestination;

/** What a server listens on: the topic, the topic and its own name, and the topic's fanout. */
export interface ServerSource {
  readonly exchange: string;
  readonly topic: string;
  readonly server: string;
}

/** How one message is to be sent. */
export interface PublishOptions {
  /** The send settles by then: past it, with MessageDeliveryError. */
  readonly deadline: Deadline;
  /** A destination that was never declared is an error (MessageUndeliverableError) and not a loss. */
  readonly mandatory: boolean;
  /** Most further attempts after one that failed as *not sent*; undefined: as many as the deadline allows (`wire.md` 2.5). */
  readonly retry: number | undefined;
}

/**
 * One incoming message. Exactly one of `accept`, `release` and `reject` is called, once. All three are bound to the
 * channel the message came from: when that is gone they do nothing, and `accept` says so.
 */
export interface Delivery {
  readonly message: WireMessage;
  /** The broker has handed this message out before, to us or to another. */
  readonly redelivered: boolean;
  /**
   * Takes the message for good. False: the channel is gone, the broker gives the message to somebody, the handler MUST
   * NOT run. True: the acknowledgement is written (or, where the driver is asked for it, confirmed).
   */
  accept(): MaybePromise<boolean>;
  /** Gives the message back at once, unharmed, for anyone. */
  release(): void;
  /** Drops the message for good: it can never be handled (malformed). The broker may keep it aside as a dead letter. */
  reject(): void;
}

/** How a source is listened to. */
export interface ListenOptions {
  /** Most deliveries handed over and not yet settled. MUST never be exceeded. */
  readonly credit: number;
}

/** A source of deliveries. Every method is idempotent and may be called in any state; none rejects on a lost connection. */
export interface Listener {
  /**
   * The broker sends no more. Resolves when that is confirmed, or when the connection is lost or closed, in bounded
   * time. What arrives until then is still handed to `onDelivery`. Deletes no queue and no exchange. Deliveries can
   * still be settled. Final: `pause` and `resume` after it do nothing.
   */
  stop(): Promise<void>;
  /** As `stop`, but `resume` takes it back; private queues stay. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Ends the listener: what was accepted is acknowledged at the broker, what was not settled goes back, what belongs
   * to this listener alone (its fanout queue) is removed. Resolves in bounded time with what could not be confirmed,
   * in words; an empty list means all was.
   */
  close(): Promise<readonly string[]>;
}

/** An address at which replies reach this process. One per transport; it survives a reconnect. */
export interface ReplyQueue {
  /** Sent to peers in each call: random, so that nobody else can guess it. */
  readonly address: string;
  /** Ends it and removes what the broker holds for it. */
  close(): Promise<void>;
}

/** Whether a listener hears anything right now. */
export interface ListenerStatus {
  readonly source: ServerSource;
  /** The broker has confirmed the subscription, and nothing has ended it since. False while stopped or paused. */
  readonly subscribed: boolean;
}

/** The state of a driver: `blocked` is connected, but the broker takes no messages. */
export type ConnectionState = 'idle' | 'connecting' | 'connected' | 'blocked' | 'disconnected' | 'closed';

/** What a driver knows about itself right now. */
export interface DriverStatus {
  readonly connection: ConnectionState;
  readonly listeners: readonly ListenerStatus[];
}

/** What happens below the transport, as told by the driver. Nothing here carries a secret or a payload. */
export interface DriverEvents {
  /** The connection changed its state; `cause` says why it was lost. */
  connection(state: ConnectionState, cause?: Error): void;
  /** A listener lost its subscription, or has it again. */
  listener(status: ListenerStatus, cause?: Error): void;
  /** A failure that belongs to no operation: reported once, retried by the driver. */
  error(error: Error): void;
}

/** What a driver is given besides its URL. */
export interface DriverContext {
  readonly logger: Logger;
  readonly events: DriverEvents;
}

/**
 * Moves messages; knows nothing of calls, versions or handlers. `docs/writing-a-driver.md` says what each method MUST,
 * MAY and need not do; `@ebbgate/driver-testkit` checks it.
 */
export interface Driver {
  readonly features: DriverFeatures;
  /**
   * Resolves when the broker can be used. Called before everything else but `status` and `close`, and again only when it
   * failed.
   */
  connect(deadline: Deadline): Promise<void>;
  /** Resolves, in bounded time, when nothing of the driver is left: no socket, no timer, no loop. Never rejects. */
  close(): Promise<void>;
  status(): DriverStatus;
  /**
   * Resolves (or returns undefined) when the broker has taken the message. Throws or rejects with MessageDeliveryError (outcome
   * `not-sent` or `unknown`), MessageUndeliverableError, BackpressureError, AuthenticationError or TransportClosedError.
   * `message.body` is read during the call or kept; it is never changed.
   */
  publish(destination: Destination, message: WireMessage, options: PublishOptions): MaybePromise<void>;
  /**
   * Resolves when a message sent to the source by anyone is delivered, not while the broker is away: then it waits, or
   * rejects with MessageDeliveryError. Rejects with TransportClosedError at `close`. `onDelivery` never throws and MUST
   * NOT be called from within another call of the driver.
   */
  listen(
    source: ServerSource,
    options: ListenOptions,
    onDelivery: (delivery: Delivery) => void,
  ): Promise<Listener>;
  /** Resolves when replies can arrive, as `listen` does. They need no settling, and never wait for credit. */
  openReplyQueue(onReply: (message: WireMessage) => void): Promise<ReplyQueue>;
}

/** A plug-in: handed to `createTransport`, found by the scheme of the URL. */
export interface DriverFactory {
  /** For messages and `--help`, like `memory`. */
  readonly name: string;
  /** Schemes without the colon, in lower case. */
  readonly schemes: readonly string[];
  /** Makes a driver without I/O. Throws ConfigurationError for an unknown or bad option of the URL. */
  create(url: TransportUrl, context: DriverContext): Driver;
}
