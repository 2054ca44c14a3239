import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';
import { installFastPublish } from './fast-codec.js';

/** How a channel ended: with an error of the broker, or with its connection (undefined). */
export type OnChannelEnd = (error: Error | undefined) => void;

/** Guards a channel from its first moment to its last; `onEnd` is called once, when it is of no use any more. */
function guarded<C extends Channel>(channel: C, onEnd: OnChannelEnd): C {
  let failure: Error | undefined;
  channel.on('error', (error) => {
    failure = error;
  });
  channel.on('handler-error', () => undefined); // our handlers report what they must
  // Before amqplib's own handler, which tells every unconfirmed publish the same as it would of a nack.
  channel.prependListener('close', () => {
    onEnd(failure);
  });
  return channel;
}

/** A channel without confirms: for declaring and consuming. */
export async function openChannel(model: ChannelModel, onEnd: OnChannelEnd): Promise<Channel> {
  return guarded(await model.createChannel(), onEnd);
}

/** A channel on which every publish is confirmed. */
export async function openConfirmChannel(model: ChannelModel, onEnd: OnChannelEnd): Promise<ConfirmChannel> {
  const channel = guarded(await model.createConfirmChannel(), onEnd);
  installFastPublish(model, channel);
  return channel;
}
