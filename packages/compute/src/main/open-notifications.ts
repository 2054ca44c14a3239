import type { Logger, Transport } from '@ebbgate/core';
import { Notifier } from '@ebbgate/notify';
import { COMPUTE_EVENTS } from '../notifications/compute-catalogue.js';
import type { NotificationSink } from '../notifications/notification-outbox.js';
import {
  NO_NOTIFICATIONS,
  type Notifications,
  versionedNotifications,
} from '../notifications/notifications.js';
import type { NotificationFlags } from './notification-flags.js';

/**
 * What a daemon tells to those who listen outside.
 * @param open - gives the way to the broker; called when it is needed
 */
export function openNotifications(
  flags: NotificationFlags,
  open: () => Transport,
  logger: Logger,
): Notifications {
  const { notifications: target, notifyOnStateChange: stateChanges } = flags;
  if (target === 'none') return NO_NOTIFICATIONS;
  const sink = target === 'log' ? logSink(logger) : brokerSink(open(), flags);
  return versionedNotifications({ sink, logger, stateChanges });
}

function logSink(logger: Logger): NotificationSink {
  return {
    send: ({ eventType, priority, publisherId, payload }) => {
      logger.info({ priority, publisherId, payload }, eventType);
      return Promise.resolve();
    },
  };
}

function brokerSink(transport: Transport, { notificationTopic }: NotificationFlags): NotificationSink {
  const notifier = new Notifier(transport, { topics: [notificationTopic] });
  return {
    send: ({ context, publisherId, eventType, priority, payload }) =>
      COMPUTE_EVENTS.notifier(notifier.prepare({ publisherId }))[priority](context, eventType, payload),
  };
}
