import {
  Deadline,
  type MaybePromise,
  type NotificationDestination,
  redactedCause,
  type Transport,
  type Verdict,
  type WireMessage,
} from '@ebbgate/core';
import { Attempts } from './attempts.js';
import type { Outcome } from './dispatcher.js';
import type { RequeueSettings } from './listener-options.js';
import { attemptKey, type IncomingNotification } from './notification-message.js';

/** A notification, and the message that brought it. */
export interface Arrived {
  readonly incoming: IncomingNotification;
  readonly message: WireMessage;
}

/**
 * What becomes of a notification whose endpoints have ended. One that is handed back comes again after a while that grows;
 * when that was so often, it goes to the dead letters or is dropped, and is told (AMQP-28).
 */
export class RequeuePolicy {
  readonly #transport: Transport;
  readonly #settings: RequeueSettings;
  readonly #exchange: string;
  readonly #attempts = new Attempts();
  readonly #counts = { requeued: 0, exhausted: 0 };

  /** @param exchange - of the dead letters */
  constructor(transport: Transport, settings: RequeueSettings, exchange: string) {
    this.#transport = transport;
    this.#settings = settings;
    this.#exchange = exchange;
  }

  get counts(): { readonly requeued: number; readonly exhausted: number } {
    return { ...this.#counts };
  }

  /** How often it was handed back here. */
  attemptsAt({ incoming, message }: Arrived): number {
    return this.#attempts.size === 0 ? 0 : this.#attempts.of(attemptKey(incoming, message));
  }

  verdict(arrived: Arrived, outcome: Outcome): MaybePromise<Verdict> {
    if (outcome === 'requeue') return this.#requeue(arrived, attemptKey(arrived.incoming, arrived.message));
    if (this.#attempts.size > 0) this.#attempts.forget(attemptKey(arrived.incoming, arrived.message));
    if (outcome === 'handled') return 'accept';
    this.#tell(arrived, 'malformed', outcome.malformed);
    return 'reject';
  }

  async #requeue(arrived: Arrived, key: string): Promise<Verdict> {
    const { maxRequeues, requeueDelayMs, maxRequeueDelayMs } = this.#settings;
    const attempts = this.#attempts.add(key);
    if (attempts > maxRequeues) return this.#exhausted(arrived, key);
    this.#counts.requeued += 1;
    return { releaseAfterMs: Math.min(requeueDelayMs * 2 ** Math.min(attempts - 1, 30), maxRequeueDelayMs) };
  }

  async #exhausted(arrived: Arrived, key: string): Promise<Verdict> {
    const { deadLetterTopic, maxRequeues, maxRequeueDelayMs } = this.#settings;
    const often = `It was handed back ${String(maxRequeues)} times`;
    if (deadLetterTopic !== undefined && !(await this.#toDeadLetters(arrived, deadLetterTopic)))
      return { releaseAfterMs: maxRequeueDelayMs };
    this.#attempts.forget(key);
    this.#counts.exhausted += 1;
    const where = deadLetterTopic === undefined ? '' : `; it is kept in "${deadLetterTopic}"`;
    this.#tell(arrived, 'exhausted', often + where);
    return deadLetterTopic === undefined ? 'reject' : 'accept';
  }

  /** False when it could not be stored there: then it must not be lost here. */
  async #toDeadLetters({ incoming, message }: Arrived, deadLetterTopic: string): Promise<boolean> {
    const destination: NotificationDestination = {
      kind: 'notification',
      exchange: this.#exchange,
      topic: `${deadLetterTopic}.${incoming.priority}`,
    };
    const { sendTimeoutMs } = this.#transport;
    const options = { deadline: Deadline.after(sendTimeoutMs), mandatory: true, retry: undefined };
    try {
      await this.#transport.publish(destination, { ...message, body: message.body.fork() }, options);
      return true;
    } catch (error) {
      this.#transport.reportError(redactedCause(error));
      return false;
    }
  }

  #tell({ incoming }: Arrived, reason: 'malformed' | 'exhausted', detail: string): void {
    const { messageId, eventType, priority } = incoming;
    this.#transport.logger.warn(
      { messageId, eventType, priority, reason },
      `Notification dropped: ${detail}`,
    );
    this.#transport.events.emit('dropped', { reason, messageId, topic: eventType, detail });
  }
}
