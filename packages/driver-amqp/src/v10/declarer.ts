import { type Logger, within } from '@ebbgate/core';
import type { Channel, ChannelModel } from 'amqplib';
import { asBrokerError, replyCode } from '../broker-errors.js';
import type { RabbitHost, RabbitSettings } from '../options.js';
import type { QueueDeclaration, SourceTopology } from '../topology.js';
import { openChannel } from '../v091/channel.js';
import { rawConnection } from '../v091/amqplib-parts.js';
import { closeInTime, endSocket } from '../v091/model-socket.js';
import { openInTime } from '../v091/open-model.js';

/** The broker answers so soon, or the connection is given up. */
const DECLARE_MS = 10_000;

/** A connection over AMQP 0-9-1, while somebody has something to declare. */
interface Line {
  readonly model: Promise<ChannelModel>;
  users: number;
}

/**
 * Declares queues and exchanges over AMQP 0-9-1, which RabbitMQ speaks on the same port: over AMQP 1.0 RabbitMQ 3 makes none
 * that last, and none that expire. Its connection is there only while there is something to do.
 */
export class Declarer {
  readonly #settings: RabbitSettings;
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  readonly #lines = new Map<RabbitHost, Line>();
  readonly #ending = new Set<Promise<void>>();

  constructor(settings: RabbitSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Resolves when exchanges, queues and bindings are there. */
  async source(host: RabbitHost, { queues }: SourceTopology): Promise<void> {
    await this.#onChannel(host, 'declare the queues', async (channel) => {
      for (const { exchange, queue, bindings } of queues) {
        await channel.assertExchange(exchange.name, exchange.type, exchange.options);
        await channel.assertQueue(queue.name, queue.options);
        for (const key of bindings) await channel.bindQueue(queue.name, exchange.name, key);
      }
    });
  }

  async queue(host: RabbitHost, { name, options }: QueueDeclaration): Promise<void> {
    await this.#onChannel(host, 'declare the reply queue', async (channel) => {
      await channel.assertQueue(name, options);
    });
  }

  /** Deletes a queue of ours. Never rejects: it expires, too. */
  async remove(host: RabbitHost, name: string): Promise<void> {
    await this.#onChannel(host, 'delete a queue', async (channel) => {
      await channel.deleteQueue(name);
    }).catch((error: unknown) => {
      this.#logger.debug({ err: error }, 'A queue was not deleted; it expires');
    });
  }

  /** Ends what is under way; resolves when nothing is left. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The transport was closed'));
    await Promise.all(this.#ending);
  }

  async #onChannel(
    host: RabbitHost,
    doing: string,
    work: (channel: Channel) => Promise<void>,
  ): Promise<void> {
    const line = this.#lineTo(host);
    line.users += 1;
    try {
      const model = await line.model;
      await within(
        onNewChannel(model, work),
        { timeoutMs: DECLARE_MS, signal: this.#closing.signal },
        () => new Error('no answer in time'),
      ).catch((error: unknown) => {
        if (!isOfChannel(error)) this.#drop(host, line, model);
        throw error;
      });
    } catch (error) {
      throw asBrokerError(
        error,
        `Cannot ${doing} over AMQP 0-9-1 at ${host.hostname}:${String(host.port)}, as RabbitMQ needs it beside AMQP 1.0`,
      );
    } finally {
      line.users -= 1;
      if (line.users === 0) this.#end(host, line);
    }
  }

  #lineTo(host: RabbitHost): Line {
    const known = this.#lines.get(host);
    if (known) return known;
    const model = openInTime(this.#settings, host, 'declare', this.#closing.signal).then((opened) => {
      opened.on('error', () => undefined); // whoever waits for an answer is told
      opened.on('close', () => {
        if (this.#lines.get(host) === line) this.#lines.delete(host);
      });
      return opened;
    });
    model.catch(() => undefined); // whoever uses it is told
    const line: Line = { model, users: 0 };
    this.#lines.set(host, line);
    return line;
  }

  /** It is of no use any more: what others wait for on it fails, too. */
  #drop(host: RabbitHost, line: Line, model: ChannelModel): void {
    if (this.#lines.get(host) === line) this.#lines.delete(host);
    endSocket(rawConnection(model).stream);
  }

  /** Nobody waits for that but `close`. */
  #end(host: RabbitHost, line: Line): void {
    if (this.#lines.get(host) === line) this.#lines.delete(host);
    const ending = line.model.then(closeInTime, () => undefined);
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }
}

/** Rejects with what the broker has ended the channel with, if it did. */
async function onNewChannel(model: ChannelModel, work: (channel: Channel) => Promise<void>): Promise<void> {
  let ended: Error | undefined;
  try {
    const channel = await openChannel(model, (error) => (ended = error));
    await work(channel);
    await channel.close();
  } catch (error) {
    throw ended ?? error;
  }
}

/** The broker has refused what was asked for: the connection is as good as before. */
function isOfChannel(error: unknown): boolean {
  return replyCode(error) !== undefined;
}
