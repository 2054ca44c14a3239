import type { DriverFeatures } from '@ebbgate/core';

/** What RabbitMQ can do by the way oslo.messaging uses it, whatever protocol it is spoken to. */
export const RABBIT_FEATURES: Omit<DriverFeatures, 'maxMessageBytes'> = Object.freeze({
  undeliverable: true,
  expiry: true,
  release: true,
  redelivered: true,
  fanout: true,
  notifications: true,
  durable: true,
  crossProcess: true,
  ordered: true,
  isolatedNames: false,
});
