import {
  bytesBody,
  type Destination,
  type Driver,
  type DriverContext,
  type DriverFactory,
  type MaybePromise,
  memoryDriver,
  type PublishOptions,
  type TransportUrl,
  type WireMessage,
} from '@ebbgate/core';

/** What a message looks like once it has been through a wire: bytes, and nothing that only this process knows. */
export function throughWire(message: WireMessage): WireMessage {
  return { ...message, id: undefined, body: bytesBody(Uint8Array.from(message.body.encode())) };
}

/**
 * The in-memory driver, but every message goes through its bytes: the form that leaves the process, under the same
 * broker. Given to `createTransport` it takes the place of the in-memory driver.
 *
 * @param onPublish Looks at every message before it is sent; what it throws is thrown by `publish`. One that it calls
 * lost counts as sent, and comes to nobody.
 */
export function bytesDriver(
  onPublish: (destination: Destination, message: WireMessage, options: PublishOptions) => unknown = () =>
    undefined,
): DriverFactory {
  return {
    name: 'memory through bytes',
    schemes: ['memory'],
    create: (url: TransportUrl, context: DriverContext): Driver => {
      const inner = memoryDriver.create(url, context);
      return {
        features: inner.features,
        connect: (deadline) => inner.connect(deadline),
        close: () => inner.close(),
        status: () => inner.status(),
        publish: (
          destination: Destination,
          message: WireMessage,
          options: PublishOptions,
        ): MaybePromise<void> => {
          const sent = throughWire(message);
          if (onPublish(destination, sent, options) === 'lost') return;
          return inner.publish(destination, sent, options);
        },
        listen: (source, options, onDelivery) => inner.listen(source, options, onDelivery),
        listenForNotifications: async (source, options, onDelivery) => {
          if (!inner.listenForNotifications) throw new Error('The in-memory driver has notifications');
          return inner.listenForNotifications(source, options, onDelivery);
        },
        openReplyQueue: (onReply) => inner.openReplyQueue(onReply),
      };
    },
  };
}
