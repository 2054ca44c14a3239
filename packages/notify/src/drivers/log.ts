import { type Logger, redactMembers } from '@ebbgate/core';
import type { Notification } from '../notification.js';
import type { Priority } from '../priorities.js';
import type { NotificationDriver } from './notification-driver.js';

const LEVELS: Readonly<Record<Priority, keyof Logger>> = {
  audit: 'info',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  critical: 'error',
  sample: 'info',
};

/** Writes to the logger instead of the broker: `oslo.messaging.notification.<event type>`, secret-looking members masked. */
export class LogDriver implements NotificationDriver {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  notify(notification: Notification): void {
    const { eventType, priority, payload } = notification;
    const fields = { notification: { ...notification, payload: redactMembers(payload) } };
    this.#logger[LEVELS[priority]](fields, `oslo.messaging.notification.${eventType}`);
  }
}
