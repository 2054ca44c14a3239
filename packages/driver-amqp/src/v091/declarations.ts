import { type Logger, redactedCause } from '@ebbgate/core';
import type { Channel, ChannelModel } from 'amqplib';
import type { ExchangeDeclaration, QueueDeclaration } from '../topology.js';
import { openChannel } from './channel.js';

/** What a message needs at the broker: its exchange, and for a notification a queue, which is bound by its own name. */
export interface Needed {
  readonly exchange: ExchangeDeclaration | undefined;
  readonly queue: QueueDeclaration | undefined;
}

/**
 * The exchanges and queues that were declared on one connection, each once. On a channel of their own, one after the other: a
 * conflict closes that channel, and must take nothing with it that is under way.
 */
export class Declarations {
  readonly #model: ChannelModel;
  readonly #logger: Logger;
  readonly #known = new Map<string, Promise<void> | true>();
  #channel: Promise<Channel> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** An answer is awaited: whoever asked is told how the channel ended. */
  #asking = false;
  #endedBy: Error | undefined;

  constructor(model: ChannelModel, logger: Logger) {
    this.#model = model;
    this.#logger = logger;
  }

  has({ exchange, queue }: Needed): boolean {
    return exchange === undefined || this.#known.get(keyOf(exchange, queue)) === true;
  }

  /** To be declared again before the next publish. */
  forget(): void {
    this.#known.clear();
  }

  /** Resolves when the broker has it; rejects with what amqplib says. */
  async declare({ exchange, queue }: Needed): Promise<void> {
    if (!exchange) return;
    const key = keyOf(exchange, queue);
    const known = this.#known.get(key);
    if (known === true) return;
    const declaring = known ?? this.#next(exchange, queue);
    this.#known.set(key, declaring);
    try {
      await declaring;
      if (this.#known.get(key) === declaring) this.#known.set(key, true);
    } catch (error) {
      if (this.#known.get(key) === declaring) this.#known.delete(key);
      throw error;
    }
  }

  #next({ name, type, options }: ExchangeDeclaration, queue: QueueDeclaration | undefined): Promise<void> {
    const work = this.#last.then(async () => {
      const channel = await this.#open();
      this.#asking = true;
      try {
        await channel.assertExchange(name, type, options);
        if (queue) {
          await channel.assertQueue(queue.name, queue.options);
          await channel.bindQueue(queue.name, name, queue.name);
        }
        this.#tell(); // it may have ended in the same packet as the answer
      } finally {
        this.#asking = false;
        this.#endedBy = undefined;
      }
    });
    this.#last = work.catch(() => undefined); // whoever asked is told
    return work;
  }

  #open(): Promise<Channel> {
    if (this.#channel) return this.#channel;
    const forget = (): void => {
      if (this.#channel === opening) this.#channel = undefined;
    };
    const opening = openChannel(this.#model, (error) => {
      forget();
      this.#endedBy = error;
      if (!this.#asking) this.#tell();
    });
    this.#channel = opening;
    opening.catch(forget);
    return opening;
  }

  #tell(): void {
    if (this.#endedBy)
      this.#logger.warn(
        { err: redactedCause(this.#endedBy) },
        'A channel for declarations was lost; it is opened again when it is needed',
      );
    this.#endedBy = undefined;
  }
}

/** A name of the broker's has no line break: it is encoded. */
function keyOf({ name }: ExchangeDeclaration, queue: QueueDeclaration | undefined): string {
  return queue ? `${name}\n${queue.name}` : name;
}
