import { type Logger, type PlainValue, setMember } from '@ebbgate/core';
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
/** Members whose value is not logged. */
const SECRET = /pass|pwd|secret|token|private_?key|api_?key|cred|auth/i;

/** Writes to the logger instead of the broker: `oslo.messaging.notification.<event type>`, secret-looking members masked. */
export class LogDriver implements NotificationDriver {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  notify(notification: Notification): void {
    const { eventType, priority, payload } = notification;
    const fields = { notification: { ...notification, payload: masked(payload) } };
    this.#logger[LEVELS[priority]](fields, `oslo.messaging.notification.${eventType}`);
  }
}

function masked(value: PlainValue): PlainValue {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  const copy = {};
  for (const [name, member] of Object.entries(value))
    setMember(copy, name, SECRET.test(name) ? '***' : masked(member));
  return copy;
}
