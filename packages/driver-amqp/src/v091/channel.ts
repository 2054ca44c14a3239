import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';
import { amqplibParts, type RawChannel, rawConnection } from './amqplib-parts.js';
import { refuseStrangeConfirms } from './strange-confirms.js';
import { installFastPublish } from './fast-codec.js';

/** How a channel ended: with an error of the broker, or with its connection (undefined). */
export type OnChannelEnd = (error: Error | undefined) => void;

/** Class 85, methods 10 and 11. */
const CONFIRM_SELECT = (85 << 16) + 10;
const CONFIRM_SELECT_OK = (85 << 16) + 11;

/** The broker has ended a channel before anything was done on it. Has the reply code of the broker's error, its cause. */
export class ChannelNotOpenedError extends Error {
  override readonly name: string = 'ChannelNotOpenedError';

  constructor(cause: Error) {
    super(cause.message, { cause });
    const { code, classId, methodId } = cause as { code?: unknown; classId?: unknown; methodId?: unknown }; // of amqplib's
    Object.assign(this, { code, classId, methodId });
  }
}

/**
 * Watches a channel from before it is open, as an error may come in the same packet as any answer, the first one too:
 * an error that nobody listens to would end the connection, and with it every other channel.
 */
class ChannelWatch {
  readonly #onEnd: OnChannelEnd;
  #inUse = false;
  #ended = false;
  #error: Error | undefined;

  constructor(channel: Channel, onEnd: OnChannelEnd) {
    this.#onEnd = onEnd;
    channel.on('error', (error) => {
      this.#error = error;
    });
    channel.on('handler-error', () => undefined); // our handlers report what they must
    // Before amqplib's own handler, which tells every unconfirmed publish the same as it would of a nack.
    channel.prependListener('close', () => {
      this.end(this.#error);
    });
  }

  /** It is of no use any more, which its owner is told once. */
  end(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    if (this.#inUse) this.#onEnd(error);
  }

  /** @throws ChannelNotOpenedError when the broker has ended it meanwhile; what else `opening` rejects with. */
  async opened(opening: Promise<unknown>): Promise<void> {
    try {
      await opening;
    } catch (error) {
      throw this.#error ? new ChannelNotOpenedError(this.#error) : error;
    }
    if (this.#ended) throw this.#error ? new ChannelNotOpenedError(this.#error) : new Error('Channel closed');
    this.#inUse = true;
  }
}

/**
 * A channel without confirms: for declaring and consuming. `onEnd` is called once, when it is of no use any more.
 *
 * @throws ChannelNotOpenedError when the broker ends it before it can be used, and whatever amqplib throws without a
 * connection; `onEnd` is not called then.
 */
export async function openChannel(model: ChannelModel, onEnd: OnChannelEnd): Promise<Channel> {
  const channel = new amqplibParts.Channel(rawConnection(model));
  await new ChannelWatch(channel, onEnd).opened(channel.open());
  return channel;
}

/** The same with confirms. A confirm that cannot be true ends it, too. */
export async function openConfirmChannel(model: ChannelModel, onEnd: OnChannelEnd): Promise<ConfirmChannel> {
  const channel = new amqplibParts.ConfirmChannel(rawConnection(model));
  const watch = new ChannelWatch(channel, onEnd);
  refuseStrangeConfirms(channel, (error) => {
    watch.end(error);
    void channel.close().catch(() => undefined); // it is of no use any more
  });
  await watch.opened(openWithConfirms(channel));
  installFastPublish(model, channel);
  return channel;
}

async function openWithConfirms(channel: RawChannel): Promise<void> {
  await channel.open();
  await channel.rpc(CONFIRM_SELECT, { nowait: false }, CONFIRM_SELECT_OK);
}
