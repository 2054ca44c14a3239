import {
  BackpressureError,
  type Deadline,
  MessagingTimeoutError,
  type ReplyQueue,
  type RequestContext,
  TimerEntry,
  timers,
  type Transport,
  type WireMessage,
} from '@ebbgate/core';
import { readReply, type RpcReply } from './envelope.js';

/** Most calls that wait at the same time on one transport; beyond it a call fails at once. */
const MAX_PENDING_CALLS = 1_000_000;

/** What a pending call needs to know besides its id. */
export interface Waiting {
  readonly deadline: Deadline;
  /** Longest silence of the server in milliseconds; undefined: any. */
  readonly monitorMs: number | undefined;
  readonly context: RequestContext;
  /** What the caller gets for a reply, or throws. */
  readonly resultOf: (reply: RpcReply, context: RequestContext) => unknown;
}

/** One pending call: settled exactly once, by a reply, its deadline, a missed sign of life, an abort, or the close. */
export class ReplyWaiter extends TimerEntry {
  readonly #id: string;
  readonly #deadline: Deadline;
  readonly #monitorMs: number | undefined;
  readonly #context: RequestContext;
  readonly #resultOf: Waiting['resultOf'];
  readonly #waiters: Map<string, ReplyWaiter>;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #lastSignAt = 0;
  #waitsAgain = false;
  /** A result that came before the end: peers of before 2016 send two messages (wire.md 1.7). */
  #early: RpcReply | undefined;
  /** Called once when the call has settled. */
  onLeave: (() => void) | undefined;

  constructor(
    id: string,
    waiting: Waiting,
    waiters: Map<string, ReplyWaiter>,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    super();
    this.#id = id;
    this.#deadline = waiting.deadline;
    this.#monitorMs = waiting.monitorMs;
    this.#context = waiting.context;
    this.#resultOf = waiting.resultOf;
    this.#waiters = waiters;
    this.#resolve = resolve;
    this.#reject = reject;
    waiters.set(id, this);
    if (waiting.monitorMs !== undefined) this.#lastSignAt = performance.now();
    timers.add(this, this.#patienceMs);
  }

  get pending(): boolean {
    return this.#waiters.has(this.#id);
  }

  onReply(reply: RpcReply): void {
    if (!reply.ending) {
      if (reply.result !== null || reply.failure !== null) this.#early = reply;
      if (this.#monitorMs !== undefined) this.#heard(); // a sign of life never extends the deadline
      return;
    }
    if (!this.#leave()) return;
    const isEmpty = reply.result === null && reply.failure === null;
    try {
      this.#resolve(this.#resultOf(isEmpty && this.#early ? this.#early : reply, this.#context));
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(error: unknown): void {
    if (this.#leave()) this.#reject(error);
  }

  override onTime(): void {
    if (!this.#deadline.expired && !this.#isSilent()) {
      timers.add(this, this.#patienceMs); // the wheel may be early by the resolution of its clock
      return;
    }
    const why = this.#deadline.expired
      ? 'Timed out waiting for a reply'
      : `No sign of life from the server for ${String(this.#monitorMs)} ms while waiting for a reply`;
    this.fail(new MessagingTimeoutError(`${why} to message id ${this.#id}`));
  }

  /**
   * The server has given no sign of life for too long. When this process was held up itself, signs may have come that
   * nobody has read yet: once it waits for the next one, which comes within half an interval.
   */
  #isSilent(): boolean {
    if (this.#monitorMs === undefined) return false;
    const now = performance.now();
    const overdueMs = now - this.#lastSignAt - this.#monitorMs;
    const halfMs = this.#monitorMs / 2;
    if (overdueMs < halfMs || this.#waitsAgain) return overdueMs >= 0;
    this.#waitsAgain = true;
    this.#lastSignAt = now - halfMs;
    return false;
  }

  #heard(): void {
    this.#waitsAgain = false;
    this.#lastSignAt = performance.now();
    timers.add(this, this.#patienceMs);
  }

  /** Milliseconds until the deadline, or until a sign of life is missed. */
  get #patienceMs(): number {
    const { remainingMs } = this.#deadline;
    if (this.#monitorMs === undefined) return remainingMs;
    return Math.min(this.#lastSignAt + this.#monitorMs - performance.now(), remainingMs);
  }

  #leave(): boolean {
    timers.remove(this);
    if (!this.#waiters.delete(this.#id)) return false;
    this.onLeave?.();
    return true;
  }
}

/** All pending calls of one transport, and the reply queue at which their answers arrive. */
export class ReplyWaiters {
  readonly #transport: Transport;
  readonly #most: number;
  readonly #waiters = new Map<string, ReplyWaiter>();
  #opening: Promise<string> | undefined;
  #late = 0;
  #queue: ReplyQueue | undefined;

  /** @param most - calls that may wait at the same time */
  constructor(transport: Transport, most: number = MAX_PENDING_CALLS) {
    this.#transport = transport;
    this.#most = most;
    transport.onClosing((error) => {
      for (const waiter of [...this.#waiters.values()]) waiter.fail(error);
    });
  }

  /** Where replies are to be sent; undefined until {@link open} has resolved once. Brokers may change it at a reconnect. */
  get address(): string | undefined {
    return this.#queue?.address;
  }

  /** Calls that wait for their reply. */
  get pending(): number {
    return this.#waiters.size;
  }

  /** Replies that came when nobody waited for them any more. */
  get late(): number {
    return this.#late;
  }

  /** Opens the reply queue, once; tried again by the next call when it failed. */
  open(): Promise<string> {
    this.#opening ??= this.#transport.openReplyQueue(this.#onReply).then(
      (queue) => {
        this.#queue = queue;
        return queue.address;
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** Registers a waiter: before the request leaves (RPC-06). */
  add(
    id: string,
    waiting: Waiting,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ): ReplyWaiter {
    if (this.#waiters.size < this.#most) return new ReplyWaiter(id, waiting, this.#waiters, resolve, reject);
    throw new BackpressureError(`${String(this.#most)} calls wait for their replies already`);
  }

  readonly #onReply = (message: WireMessage): void => {
    let reply: RpcReply;
    try {
      reply = readReply(message);
    } catch (error) {
      const detail = error instanceof Error ? error.message : 'not a reply';
      const fields = { messageId: message.id, size: message.body.size };
      this.#transport.logger.warn(fields, `Malformed reply dropped: ${detail}`);
      this.#transport.events.emit('dropped', {
        reason: 'malformed',
        messageId: message.id,
        topic: undefined,
        detail,
      });
      return;
    }
    const waiter = this.#waiters.get(reply.msgId);
    if (waiter) {
      waiter.onReply(reply);
      return;
    }
    this.#late += 1;
    this.#transport.logger.debug(
      { msgId: reply.msgId, size: message.body.size },
      'Late reply dropped: no call waits for it',
    );
  };
}

const byTransport = new WeakMap<Transport, ReplyWaiters>();

/** The waiters of a transport: one reply queue for all its clients. */
export function replyWaiters(transport: Transport): ReplyWaiters {
  let waiters = byTransport.get(transport);
  if (!waiters) {
    waiters = new ReplyWaiters(transport);
    byTransport.set(transport, waiters);
  }
  return waiters;
}
