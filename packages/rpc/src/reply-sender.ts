import {
  Deadline,
  type Logger,
  type MaybePromise,
  MessageUndeliverableError,
  type ReplyDestination,
  TimerEntry,
  timers,
  type Transport,
  type WireMessage,
} from '@ebbgate/core';
import { type RpcReply, replyMessage } from './envelope.js';

/** A reply to a missing queue is sent again so often, for as long as the transport says (`wire.md` 2.7). */
const RETRY_EVERY_MS = 250;
/** So many, of so many bytes, wait for their queue at most; a further one is dropped at once. */
const MOST_RETRIES = 10_000;
const MOST_RETRY_BYTES = 64 * 1024 ** 2;
/** Queues known to be missing: so many, for so long, get no second try. */
const GONE_LIMIT = 200;
const GONE_FOR_MS = 60_000;

/** A reply whose queue is missing for the moment. It holds no slot, and blocks no other reply. */
class Retry extends TimerEntry {
  readonly until: Deadline;
  readonly address: string;
  readonly bytes: number;
  readonly #again: (retry: Retry) => void;

  constructor(address: string, bytes: number, until: Deadline, again: (retry: Retry) => void) {
    super();
    this.until = until;
    this.address = address;
    this.bytes = bytes;
    this.#again = again;
    timers.add(this, RETRY_EVERY_MS);
  }

  override onTime(): void {
    this.#again(this);
  }
}

/** Sends replies, and those again whose queue is missing for a moment (AMQP-25). */
export class ReplySender {
  readonly #transport: Transport;
  readonly #log: Logger;
  readonly #mostBytes: number;
  readonly #retries = new Set<Retry>();
  #retryBytes = 0;
  readonly #gone = new Map<string, Deadline>();
  #addresses = new Map<string, ReplyDestination>();
  /** Ends the watch for the close of the transport, which is kept as long as anything waits. */
  #unwatch: (() => void) | undefined;

  constructor(transport: Transport, mostBytes: number = MOST_RETRY_BYTES) {
    this.#transport = transport;
    this.#log = transport.logger;
    this.#mostBytes = mostBytes;
  }

  /** Replies that wait for their queue to come back. */
  get retrying(): number {
    return this.#retries.size;
  }

  /**
   * Settles when the broker has the reply, or when the reply was set aside to be sent again.
   *
   * @param otherwise - what to do about a reply that cannot be sent at all, and why
   */
  send(
    address: string,
    reply: RpcReply,
    otherwise: (error: unknown) => MaybePromise<void>,
  ): MaybePromise<void> {
    if (this.#isGone(address)) {
      this.#drop(address, reply.msgId, 'its queue is known to be missing');
      return;
    }
    const message = replyMessage(reply);
    const notSent = (error: unknown): MaybePromise<void> => {
      if (!(error instanceof MessageUndeliverableError)) return otherwise(error);
      this.#setAside(address, message, reply.msgId);
    };
    try {
      return this.#publish(address, message)?.catch(notSent);
    } catch (error) {
      return notSent(error);
    }
  }

  /** One sign of life; never sent twice. */
  beat(address: string, msgId: string): MaybePromise<void> {
    return this.#publish(address, replyMessage({ msgId, result: null, failure: null, ending: false }));
  }

  /** The server has ended: a queue that is still missing means that its caller is gone (`decisions.md` 6). */
  abandon(): void {
    for (const retry of this.#retries) {
      timers.remove(retry);
      this.#log.info({ address: retry.address }, 'A reply was dropped: its caller is gone');
      this.#forget(retry);
    }
  }

  #publish(address: string, message: WireMessage): MaybePromise<void> {
    const deadline = Deadline.after(this.#transport.sendTimeoutMs);
    return this.#transport.publish(this.#destination(address), message, {
      deadline,
      mandatory: true,
      retry: undefined,
    });
  }

  /** One object per address, so that a driver can remember the way. */
  #destination(address: string): ReplyDestination {
    let destination = this.#addresses.get(address);
    if (!destination) {
      destination = Object.freeze({ kind: 'reply', address });
      if (this.#addresses.size >= GONE_LIMIT) this.#addresses = new Map();
      this.#addresses.set(address, destination);
    }
    return destination;
  }

  #setAside(address: string, message: WireMessage, msgId: string): void {
    const { size } = message.body;
    if (this.#retries.size >= MOST_RETRIES || this.#retryBytes + size > this.#mostBytes) {
      this.#drop(address, msgId, 'its queue is missing, and too many replies wait for theirs');
      return;
    }
    const until = Deadline.after(this.#transport.replyRetryMs);
    const retry = new Retry(address, size, until, (self) => {
      void this.#again(self, address, message, msgId);
    });
    this.#retries.add(retry);
    this.#retryBytes += size;
    this.#unwatch ??= this.#transport.onClosing(() => {
      this.abandon();
    });
  }

  async #again(retry: Retry, address: string, message: WireMessage, msgId: string): Promise<void> {
    try {
      await this.#publish(address, message);
      this.#forget(retry);
    } catch (error) {
      if (!this.#retries.has(retry)) return; // abandoned
      if (error instanceof MessageUndeliverableError && !retry.until.expired) {
        timers.add(retry, RETRY_EVERY_MS);
        return;
      }
      this.#forget(retry);
      this.#remember(address);
      this.#drop(address, msgId, error instanceof Error ? error.message : 'it could not be sent');
    }
  }

  #forget(retry: Retry): void {
    if (this.#retries.delete(retry)) this.#retryBytes -= retry.bytes;
    if (this.#retries.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #drop(address: string, msgId: string, detail: string): void {
    this.#log.warn({ address, msgId }, `A reply was dropped: ${detail}`);
    this.#transport.events.emit('dropped', {
      reason: 'reply-undeliverable',
      messageId: msgId,
      topic: undefined,
      detail,
    });
  }

  #remember(address: string): void {
    const [oldest] = this.#gone.keys();
    if (this.#gone.size >= GONE_LIMIT && oldest !== undefined) this.#gone.delete(oldest);
    this.#gone.set(address, Deadline.after(GONE_FOR_MS));
  }

  #isGone(address: string): boolean {
    if (this.#gone.size === 0) return false;
    const until = this.#gone.get(address);
    if (until?.expired) this.#gone.delete(address);
    return until !== undefined && !until.expired;
  }
}
