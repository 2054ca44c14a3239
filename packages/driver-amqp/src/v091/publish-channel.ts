import type { ConfirmChannel, Message } from 'amqplib';
import { type Keeper, type Outgoing, Unconfirmed } from './unconfirmed.js';

/** Overdue messages that the broker may still confirm: with more of them the channel is given up, to keep memory bounded. */
const MOST_OVERDUE = 10_000;
const MOST_OVERDUE_BYTES = 32 * 1024 ** 2;

/** What a channel tells its publisher. */
export interface PublishChannelHooks {
  /** The broker has refused a message. */
  onRefused(channel: PublishChannel): void;
  /** Too many messages are overdue. */
  onOverdue(channel: PublishChannel, why: Error): void;
  /** It was retired, and is closed now. */
  onRetired(channel: PublishChannel): void;
}

/** One confirm channel, and what was written to it and is not confirmed yet. */
export class PublishChannel implements Keeper {
  readonly #raw: ConfirmChannel;
  readonly #hooks: PublishChannelHooks;
  readonly #entries = new Set<Unconfirmed>();
  #overdue = 0;
  #overdueBytes = 0;
  #isRetired = false;
  #isOver = false;

  constructor(raw: ConfirmChannel, hooks: PublishChannelHooks) {
    this.#raw = raw;
    this.#hooks = hooks;
    raw.on('return', (message) => {
      this.#returned(message);
    });
  }

  /**
   * `resolve` and `reject` are told what became of it. Gives whether the socket has room for more.
   *
   * @throws what amqplib throws: the channel is closed or closing, or the message is none that AMQP can carry.
   */
  write(outgoing: Outgoing, resolve: () => void, reject: (error: Error) => void): boolean {
    const { exchange, routingKey, body, properties } = outgoing;
    const onConfirm = (error: unknown): void => {
      if (this.#isOver) return; // settled with the channel
      entry.confirmed(error);
      if (error) this.#hooks.onRefused(this);
    };
    const room = this.#raw.publish(exchange?.name ?? '', routingKey, body, properties, onConfirm);
    const entry = new Unconfirmed(outgoing, this, resolve, reject);
    return room;
  }

  /** Nothing more is written to it: it is closed when all that is under way is settled. */
  retire(): void {
    this.#isRetired = true;
    if (this.#entries.size === 0) this.#endRetired();
  }

  /** It is gone: what amqplib says of its messages from now on is none of the broker's words. */
  end(): void {
    this.#isOver = true;
  }

  /** {@link end}, and fails what was under way. */
  fail(why: (entry: Unconfirmed) => Error): void {
    this.end();
    for (const entry of [...this.#entries]) entry.fail(why(entry));
  }

  /** Closes it at the broker. */
  close(): void {
    this.end();
    void this.#raw.close().catch(() => undefined); // it is of no use any more
  }

  add(entry: Unconfirmed): void {
    this.#entries.add(entry);
  }

  remove(entry: Unconfirmed): boolean {
    const had = this.#entries.delete(entry);
    if (this.#isRetired && !this.#isOver && this.#entries.size === 0) this.#endRetired();
    return had;
  }

  onOverdue(bytes: number): void {
    this.#overdue += 1;
    this.#overdueBytes += bytes;
    if (this.#isOver || (this.#overdue < MOST_OVERDUE && this.#overdueBytes < MOST_OVERDUE_BYTES)) return;
    const why = new Error(`The broker has left ${String(this.#overdue)} messages unconfirmed`);
    this.#hooks.onOverdue(this, why);
  }

  onLateConfirm(bytes: number): void {
    this.#overdue -= 1;
    this.#overdueBytes -= bytes;
  }

  #endRetired(): void {
    this.close();
    this.#hooks.onRetired(this);
  }

  /** A return names no message, and comes before its confirm: found by address and content. */
  #returned(message: Message): void {
    const { exchange, routingKey } = message.fields;
    for (const entry of this.#entries) {
      const { outgoing } = entry;
      const same = outgoing?.routingKey === routingKey && (outgoing.exchange?.name ?? '') === exchange;
      if (same && !entry.returned && outgoing.body.equals(message.content)) {
        entry.returned = true;
        return;
      }
    }
  }
}
