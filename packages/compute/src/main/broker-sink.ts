import type { Transport } from '@ebbgate/core';
import { Notifier } from '@ebbgate/notify';
import { COMPUTE_EVENTS } from '../notifications/compute-catalogue.js';
import type { NotificationSink } from '../notifications/notification-outbox.js';
import type { NotificationFlags } from './notification-flags.js';

/** Sends notifications over a transport; a promise of `send` resolves when the broker has one. */
export function brokerSink(transport: Transport, { notificationTopic }: NotificationFlags): NotificationSink {
  const notifier = new Notifier(transport, { topics: [notificationTopic] });
  return {
    send: ({ context, publisherId, eventType, priority, payload }) =>
      COMPUTE_EVENTS.notifier(notifier.prepare({ publisherId }))[priority](context, eventType, payload),
  };
}
