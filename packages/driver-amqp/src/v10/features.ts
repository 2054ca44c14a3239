import type { DriverFeatures } from '@ebbgate/core';
import { RABBIT_FEATURES } from '../rabbit-features.js';
import type { Amqp10Settings } from './options.js';

/**
 * Of any other broker only what AMQP 1.0 itself asks for is known: nodes may be made on use, and be lost with it. A notification is
 * stored in the queue of its topic and in that of each pool, also of those that nobody hears now: AMQP 1.0 has no word for that.
 */
const OF_OTHERS: Omit<DriverFeatures, 'maxMessageBytes'> = Object.freeze({
  ...RABBIT_FEATURES,
  undeliverable: false,
  expiry: false,
  notifications: false,
  durable: false,
  isolatedNames: true,
});

/**
 * The manifest for the broker that the options name. Acceptance is `written` only: an acknowledgement is confirmed to a receiver
 * that settles second (`rcv-settle-mode`), and RabbitMQ 3 ends the session of one that asks for it: not supported.
 */
export function featuresOf({ addressForm, maxMessageBytes }: Amqp10Settings): DriverFeatures {
  return Object.freeze({ ...(addressForm === 'plain' ? OF_OTHERS : RABBIT_FEATURES), maxMessageBytes });
}
