import type { CallerContext, Transport } from '@ebbgate/core';
import { Notifier } from '@ebbgate/notify';
import { COMPUTE_EVENTS } from '../notifications/compute-catalogue.js';
import type { NotificationSink } from '../notifications/notification-outbox.js';
import type { NotificationFlags } from './notification-flags.js';

type ComputeNotifier = ReturnType<typeof COMPUTE_EVENTS.notifier<CallerContext>>;

/** Sends notifications over a transport; a promise of `send` resolves when the broker has one. */
export function brokerSink(transport: Transport, { notificationTopic }: NotificationFlags): NotificationSink {
  const notifier = new Notifier(transport, { topics: [notificationTopic] });
  const publishers = new Map<string, ComputeNotifier>(); // as many as there are hosts, at most
  const ofPublisher = (publisherId: string): ComputeNotifier => {
    const made = publishers.get(publisherId) ?? COMPUTE_EVENTS.notifier(notifier.prepare({ publisherId }));
    publishers.set(publisherId, made);
    return made;
  };
  return {
    send: ({ context, publisherId, eventType, priority, payload }) =>
      ofPublisher(publisherId)[priority](context, eventType, payload),
  };
}
