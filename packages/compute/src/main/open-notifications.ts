import { ConfigurationError, type Logger, type Transport } from '@ebbgate/core';
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

function brokerSink(_transport: Transport, { notificationTopic }: NotificationFlags): NotificationSink {
  throw new ConfigurationError(`Notifications cannot be sent to ${notificationTopic} yet`);
}
