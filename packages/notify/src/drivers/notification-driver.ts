import type { MaybePromise } from '@ebbgate/core';
import type { Notification } from '../notification.js';

/** How one notification is to be sent. */
export interface NotificationSending {
  /** Milliseconds until the send fails. */
  readonly timeoutMs: number;
  /** Most further attempts after one that failed; undefined: as many as the time allows. */
  readonly retry: number | undefined;
}

/** Where notifications go. An application may bring its own. */
export interface NotificationDriver {
  /** Resolves (or returns) when the notification is where it belongs; throws or rejects when it is not. */
  notify(notification: Notification, sending: NotificationSending): MaybePromise<void>;
}

/** The drivers that have names. */
export type NotificationDriverName = 'messagingv2' | 'messaging' | 'log' | 'test' | 'noop' | 'routing';
