import type { Logger, Transport } from '@ebbgate/core';
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

/** What only those need who tell something is loaded for them: it takes a fifth of the start of a process. */
function brokerSink(transport: Transport, flags: NotificationFlags): NotificationSink {
  const loading = import('./broker-sink.js').then((module) => module.brokerSink(transport, flags));
  loading.catch(() => undefined); // told with each notification
  return { send: async (notification) => (await loading).send(notification) };
}
