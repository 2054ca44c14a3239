import {
  type Deadline,
  type Delivery,
  type Destination,
  type Driver,
  type DriverContext,
  type DriverFactory,
  type DriverFeatures,
  type DriverStatus,
  type Listener,
  type ListenOptions,
  type MaybePromise,
  memoryDriver,
  type NotificationSource,
  type PublishOptions,
  type ReplyQueue,
  type ServerSource,
  type WireMessage,
} from '@ebbgate/core';

type OnDelivery = (delivery: Delivery) => void;

/** The in-memory driver behind a wall in which one stone can be replaced. */
export class WrappedDriver implements Driver {
  readonly inner: Driver;

  constructor(inner: Driver) {
    this.inner = inner;
  }

  get features(): DriverFeatures {
    return this.inner.features;
  }

  connect(deadline: Deadline): Promise<void> {
    return this.inner.connect(deadline);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  status(): DriverStatus {
    return this.inner.status();
  }

  publish(destination: Destination, message: WireMessage, options: PublishOptions): MaybePromise<void> {
    return this.inner.publish(destination, message, options);
  }

  listen(source: ServerSource, options: ListenOptions, onDelivery: OnDelivery): Promise<Listener> {
    return this.inner.listen(source, options, onDelivery);
  }

  listenForNotifications(
    source: NotificationSource,
    options: ListenOptions,
    onDelivery: OnDelivery,
  ): Promise<Listener> {
    if (!this.inner.listenForNotifications) throw new TypeError('The driver within has no notifications');
    return this.inner.listenForNotifications(source, options, onDelivery);
  }

  openReplyQueue(onReply: (message: WireMessage) => void): Promise<ReplyQueue> {
    return this.inner.openReplyQueue(onReply);
  }
}

/** A driver for `memory:` that is broken as told. */
export function broken(wrap: (inner: Driver, context: DriverContext) => Driver): DriverFactory {
  return { ...memoryDriver, create: (url, context) => wrap(memoryDriver.create(url, context), context) };
}

/** A delivery with some of its methods replaced. */
export function delivery(inner: Delivery, replaced: Partial<Delivery>): Delivery {
  const { message, redelivered } = inner;
  return {
    message,
    redelivered,
    accept: () => inner.accept(),
    release: () => {
      inner.release();
    },
    reject: () => {
      inner.reject();
    },
    ...replaced,
  };
}

/** A listener with some of its methods replaced. */
export function listener(inner: Listener, replaced: Partial<Listener>): Listener {
  return {
    stop: () => inner.stop(),
    pause: () => inner.pause(),
    resume: () => inner.resume(),
    close: () => inner.close(),
    ...replaced,
  };
}
