import type { Notification } from '../notification.js';
import type { NotificationDriver } from './notification-driver.js';

/** Keeps what it is given, for tests. */
export class TestDriver implements NotificationDriver {
  /** All notifications so far, in order. */
  readonly notifications: Notification[] = [];

  /** Keeps it. */
  notify(notification: Notification): void {
    this.notifications.push(notification);
  }
}
