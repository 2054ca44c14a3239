import {
  type Deadline,
  MessageDeliveryError,
  MessageUndeliverableError,
  TimerEntry,
  timers,
} from '@ebbgate/core';
import type { Options } from 'amqplib';
import type { ExchangeDeclaration, QueueDeclaration } from '../topology.js';

/** One message on its way to the broker. */
export interface Outgoing {
  /** Declared before the first publish on a connection; undefined for the default exchange. */
  readonly exchange: ExchangeDeclaration | undefined;
  readonly routingKey: string;
  /** Declared likewise and bound by the routing key. */
  readonly queue: QueueDeclaration | undefined;
  readonly body: Buffer;
  readonly properties: Options.Publish;
  readonly deadline: Deadline;
  readonly retry: number | undefined;
  /** May be sent again when it is unknown whether the broker has it: its receiver knows duplicates (replies). */
  readonly repeatable: boolean;
}

/** Rejects a send to say: try again, nothing has reached the broker or it does no harm. */
export class SendAgain extends Error {}

/** As {@link SendAgain}: the queue that was declared for the message is not there any more. */
export class DeclareAgain extends SendAgain {}

/** Who keeps what is not confirmed yet. */
export interface Keeper {
  add(entry: Unconfirmed): void;
  /** Gives whether it was kept. */
  remove(entry: Unconfirmed): boolean;
  /** Its deadline came first: the broker may still confirm it. */
  onOverdue(bytes: number): void;
  /** The broker has confirmed what was overdue. */
  onLateConfirm(bytes: number): void;
}

/** A message that was written and is not confirmed yet. Settled once: by a confirm, a return, a loss, or its deadline. */
export class Unconfirmed extends TimerEntry {
  returned = false;
  readonly #bytes: number;
  readonly #keeper: Keeper;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  /** Undefined once its deadline has come: amqplib keeps this entry until the confirm, which may never come. */
  #outgoing: Outgoing | undefined;

  constructor(outgoing: Outgoing, keeper: Keeper, resolve: () => void, reject: (error: Error) => void) {
    super();
    this.#outgoing = outgoing;
    this.#bytes = outgoing.body.byteLength;
    this.#keeper = keeper;
    this.#resolve = resolve;
    this.#reject = reject;
    keeper.add(this);
    timers.add(this, outgoing.deadline.remainingMs);
  }

  /** Undefined when it is overdue. */
  get outgoing(): Outgoing | undefined {
    return this.#outgoing;
  }

  confirmed(error: unknown): void {
    const outgoing = this.#outgoing;
    if (!outgoing) this.#keeper.onLateConfirm(this.#bytes);
    else if (error) this.fail(refused(outgoing));
    else if (this.returned) this.fail(returned(outgoing));
    else if (this.#leave()) this.#resolve();
  }

  fail(error: Error): void {
    if (this.#leave()) this.#reject(error);
  }

  override onTime(): void {
    this.#outgoing = undefined;
    this.fail(
      new MessageDeliveryError('The broker did not confirm the message before the deadline', {
        outcome: 'unknown',
      }),
    );
    this.#keeper.onOverdue(this.#bytes);
  }

  #leave(): boolean {
    timers.remove(this);
    return this.#keeper.remove(this);
  }
}

function refused({ repeatable }: Outgoing): Error {
  if (repeatable) return new SendAgain('it was refused (basic.nack)');
  return new MessageDeliveryError('The broker refused the message (basic.nack)');
}

function returned({ exchange, routingKey, queue }: Outgoing): Error {
  if (!exchange) return new MessageUndeliverableError(`There is no queue "${routingKey}"`);
  const text = `No queue takes "${routingKey}" on exchange "${exchange.name}"`;
  return queue
    ? new DeclareAgain(text)
    : new MessageUndeliverableError(`${text}: nobody has ever listened there`);
}
