import type { Logger } from './logger.js';
import type { Deadline } from './deadline.js';
import type { DriverFeatures } from './features.js';
import type { WireMessage } from './message.js';
import type { Tail, TailHooks, TailSource } from './tail.js';
import type { TransportUrl } from './transport-url.js';

/** A result that is there already, or comes later: what costs no promise where none is needed. */
export type MaybePromise<T> = T | Promise<T>;

/** One of the servers that listen on the topic. */
export interface TopicDestination {
  /** Any one server of the topic. */
  readonly kind: 'topic';
  /** Name of the exchange. */
  readonly exchange: string;
  /** Name of the topic. */
  readonly topic: string;
}

/** Exactly that server of the topic. */
export interface ServerDestination {
  /** One server of the topic. */
  readonly kind: 'server';
  /** Name of the exchange. */
  readonly exchange: string;
  /** Name of the topic. */
  readonly topic: string;
  /** Name of the server. */
  readonly server: string;
}

/** Every server of the topic that listens now. */
export interface FanoutDestination {
  /** Every server that listens to the topic, each once. */
  readonly kind: 'fanout';
  /** Name of the exchange. */
  readonly exchange: string;
  /** Name of the topic. */
  readonly topic: string;
}

/** The reply queue of a caller. */
export interface ReplyDestination {
  /** The reply queue of one caller. */
  readonly kind: 'reply';
  /** As the caller gave it in its request. */
  readonly address: string;
}

/** The queue of a topic and priority, where it waits until somebody listens, and a copy for each pool of listeners. */
export interface NotificationDestination {
  /** A notification. */
  readonly kind: 'notification';
  /** Name of the exchange. */
  readonly exchange: string;
  /** The topic with its priority, like `notifications.info`. */
  readonly topic: string;
}

/** Where a message goes. Names are any text: a driver encodes what its broker cannot hold. */
export type Destination =
  TopicDestination | ServerDestination | FanoutDestination | ReplyDestination | NotificationDestination;

/** What a server listens on: the topic, the topic and its own name, and the topic's fanout. */
export interface ServerSource {
  /** Name of the exchange. */
  readonly exchange: string;
  /** Messages to the topic come to one of its servers. */
  readonly topic: string;
  /** Messages to the server come to it alone. */
  readonly server: string;
}

/** What a listener to notifications listens on. */
export interface NotificationSource {
  /** Each an exchange and a topic with its priority. */
  readonly topics: readonly Omit<NotificationDestination, 'kind'>[];
  /**
   * The name of a queue that gets a copy of what comes to any of the topics from now on, shared by the listeners of that
   * name. Undefined: the queues of the topics themselves.
   */
  readonly pool: string | undefined;
  /** The pool is this listener's alone: its queue goes with it, whatever is in it. */
  readonly ephemeral: boolean;
}

/** What can be listened to. */
export type Source = ServerSource | NotificationSource;

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
  /** As it came. Shared with nobody; never changed. */
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
  /** Takes a `pause` back: what waits at the broker comes again. */
  resume(): Promise<void>;
  /**
   * Ends the listener: what was accepted is acknowledged at the broker, what was not settled goes back, what belongs
   * to this listener alone (its fanout queue) is removed. Resolves in bounded time with what could not be confirmed,
   * in words; an empty list means all was.
   */
  close(): Promise<readonly string[]>;
}

/**
 * An address at which replies reach this process. One per transport; it survives a reconnect, unless the broker gives the
 * name: then it may be another one after it, and is asked for with each call.
 */
export interface ReplyQueue {
  /** Sent to peers in each call: random, so that nobody else can guess it. */
  readonly address: string;
  /** Ends it and removes what the broker holds for it. */
  close(): Promise<void>;
}

/** Whether a listener hears anything right now. */
export interface ListenerStatus {
  /** What is listened to. */
  readonly source: Source;
  /** The broker has confirmed the subscription, and nothing has ended it since. False while stopped or paused. */
  readonly subscribed: boolean;
}

/** The state of a driver: `blocked` is connected, but the broker takes no messages. */
export type ConnectionState = 'idle' | 'connecting' | 'connected' | 'blocked' | 'disconnected' | 'closed';

/** What a driver knows about itself right now. */
export interface DriverStatus {
  /** Of the connection that counts, when it has several. */
  readonly connection: ConnectionState;
  /**
   * Why it is not connected: what was lost or refused last, without secrets. May be left out: then what `connection` was
   * told last counts. It is part of the error when something takes too long meanwhile.
   */
  readonly cause?: Error | undefined;
  /** One for each listener that is not closed. */
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
  /** Where the driver logs: never payloads, never credentials. */
  readonly logger: Logger;
  /** Whom the driver tells what happens below. */
  readonly events: DriverEvents;
}

/**
 * Moves messages; knows nothing of calls, versions or handlers. `docs/writing-a-driver.md` says what each method MUST,
 * MAY and need not do; `@ebbgate/driver-testkit` checks it.
 */
export interface Driver {
  /** What it can do: read by the code above it and by the conformance suite. Never changes. */
  readonly features: DriverFeatures;
  /** Milliseconds for which a reply is sent again when the queue of its caller is missing; default 60000. */
  readonly replyRetryMs?: number;
  /**
   * Resolves when the broker can be used. Called before everything else but `status` and `close`, and again only when it
   * failed.
   */
  connect(deadline: Deadline): Promise<void>;
  /**
   * Resolves when the broker can be used; rejects with MessageDeliveryError when so many further attempts after the next
   * one have failed too, or at the deadline. Called while `connect` is under way and after it, any number of times, for
   * sends with a limited `retry`. May be left out: then only their deadline bounds connecting.
   */
  reach?(deadline: Deadline, retry: number): Promise<void>;
  /** Resolves, in bounded time, when nothing of the driver is left: no socket, no timer, no loop. Never rejects. */
  close(): Promise<void>;
  /** How it is right now. May be asked in any state; does no I/O. */
  status(): DriverStatus;
  /**
   * Resolves (or returns undefined) when the broker has taken the message. Throws or rejects with MessageDeliveryError (outcome
   * `not-sent` or `unknown`), MessageUndeliverableError, BackpressureError, AuthenticationError or TransportClosedError.
   * `message.body` is read during the call or kept; it is never changed. A notification is stored in the queue of its topic,
   * which is declared when it is not there.
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
  /**
   * As `listen`, to notifications. A delivery is held while it is handled, and accepted afterwards. Left out by a driver
   * without the feature `notifications`.
   */
  listenForNotifications?(
    source: NotificationSource,
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
  /**
   * Sees the RPC of a topic without taking a message from anybody. Resolves when what passes from now on is told; rejects as
   * {@link Driver.listen} does, with ConfigurationError for what cannot be seen. Left out where the broker lets nobody watch.
   */
  tail?(url: TransportUrl, source: TailSource, hooks: TailHooks): Promise<Tail>;
}
