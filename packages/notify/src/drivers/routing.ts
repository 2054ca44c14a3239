import type { MaybePromise } from '@ebbgate/core';
import { allSettled } from '../all-settled.js';
import type { Notification } from '../notification.js';
import type { NotificationDriver, NotificationSending } from './notification-driver.js';
import type { Route } from './routing-file.js';

/** Gives each notification to the drivers whose rules take it, each once, however many groups name it. */
export class RoutingDriver implements NotificationDriver {
  readonly #routes: readonly Route[];
  readonly #driverOf: (name: string) => NotificationDriver;
  readonly #onOther: (error: unknown) => void;

  /** @param driverOf - the driver of a name in the file */
  constructor(
    routes: readonly Route[],
    driverOf: (name: string) => NotificationDriver,
    onOther: (error: unknown) => void,
  ) {
    this.#routes = routes;
    this.#driverOf = driverOf;
    this.#onOther = onOther;
    for (const { driver } of routes) driverOf(driver); // an unknown name is told at once
  }

  notify(notification: Notification, sending: NotificationSending): MaybePromise<void> {
    const names = this.#routes.filter((route) => takes(route, notification)).map(({ driver }) => driver);
    const drivers = [...new Set(names)].map(this.#driverOf);
    if (drivers.length === 0) return;
    return allSettled(drivers, (driver) => driver.notify(notification, sending), this.#onOther);
  }
}

function takes({ events, priorities }: Route, { eventType, priority }: Notification): boolean {
  const isTaken = (patterns: Route['events'], text: string): boolean =>
    patterns === undefined || patterns.some((pattern) => pattern.matchesAll(text));
  return isTaken(events, eventType) && isTaken(priorities, priority);
}
