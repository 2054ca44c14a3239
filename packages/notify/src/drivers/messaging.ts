import {
  Deadline,
  type MaybePromise,
  type NotificationDestination,
  redactedCause,
  type Transport,
} from '@ebbgate/core';
import { allSettled } from '../all-settled.js';
import { type Format, notificationMessage } from '../notification-message.js';
import type { Notification } from '../notification.js';
import { PRIORITIES, type Priority } from '../priorities.js';
import type { NotificationDriver, NotificationSending } from './notification-driver.js';

/** What a messaging driver is made of. */
export interface MessagingParts {
  readonly transport: Transport;
  readonly exchange: string;
  readonly topics: readonly string[];
  readonly format: Format;
}

/** Sends to the queue `<topic>.<priority>` of each topic: `messagingv2` with an envelope, `messaging` without. */
export class MessagingDriver implements NotificationDriver {
  readonly #transport: Transport;
  readonly #format: Format;
  /** The same objects for every send: drivers keep the way to each. */
  readonly #destinations: ReadonlyMap<Priority, readonly NotificationDestination[]>;

  constructor({ transport, exchange, topics, format }: MessagingParts) {
    this.#transport = transport;
    this.#format = format;
    this.#destinations = new Map(
      PRIORITIES.map((priority) => [
        priority,
        topics.map((topic) =>
          Object.freeze({ kind: 'notification', exchange, topic: `${topic}.${priority}` }),
        ),
      ]),
    );
  }

  notify(notification: Notification, { timeoutMs, retry }: NotificationSending): MaybePromise<void> {
    const options = { deadline: Deadline.after(timeoutMs), mandatory: true, retry };
    return allSettled(
      this.#destinations.get(notification.priority) ?? [],
      (destination) =>
        this.#transport.publish(destination, notificationMessage(notification, this.#format), options),
      this.#onOther,
    );
  }

  /** What one topic has failed with beside another one. */
  readonly #onOther = (error: unknown): void => {
    this.#transport.reportError(redactedCause(error));
  };
}
