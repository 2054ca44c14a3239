import type { Channel, ChannelModel } from 'amqplib';

/**
 * Ends a channel or a connection in order. True when the broker has confirmed it, and so has processed all that was written
 * before; false as soon as it is gone without that: amqplib's own promise would never settle then.
 */
export function closedInOrder(one: Channel | ChannelModel): Promise<boolean> {
  return new Promise((resolve) => {
    // Both close events come in the turn of the broker's answer: that is told first.
    one.once('close', () => setImmediate(resolve, false));
    one.close().then(
      () => {
        resolve(true);
      },
      () => {
        resolve(false);
      },
    );
  });
}
