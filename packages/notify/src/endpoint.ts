import type { RequestContext } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { NotificationFilter } from './filter.js';

/** Returned by an endpoint: it has done what it had to; so has one that returns anything else but {@link REQUEUE}. */
export const HANDLED = 'handled';
/** Returned by an endpoint: the notification is to come again later, here or to a sibling. */
export const REQUEUE = 'requeue';

/** A notification as endpoints see it. */
export interface ReceivedNotification<Payload = unknown> {
  /** What its sender let travel. */
  readonly context: RequestContext;
  /** Who sent it; null when it does not say. */
  readonly publisherId: string | null;
  /** What has happened. */
  readonly eventType: string;
  /** In lower case. */
  readonly priority: string;
  /** What it says. */
  readonly payload: Payload;
  /** The same for all topics it was sent to; undefined when its sender gave none. */
  readonly messageId: string | undefined;
  /** When it was made, as its sender wrote it. */
  readonly timestamp: string | undefined;
  /** How often it was handed back here before. */
  readonly attempts: number;
}

/** What every endpoint may have besides its methods. */
export interface EndpointRules {
  /** Which notifications it gets; default: all of its priorities. */
  readonly filter?: NotificationFilter;
  /**
   * Schemas of payloads by event type (zod, valibot, …): the endpoint gets what they make of them. A notification whose
   * payload does not fit is dropped and told, never tried again.
   */
  readonly payloads?: Readonly<Record<string, StandardSchemaV1>>;
}

/**
 * An object with a method for each priority that it wants to hear of. A method returns {@link REQUEUE}, or throws, when the
 * notification is to come again.
 */
export interface NotificationEndpoint extends EndpointRules {
  /** Handles a notification of this priority. */
  audit?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  debug?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  info?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  warn?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  error?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  critical?(context: RequestContext, notification: ReceivedNotification): unknown;
  /** Handles a notification of this priority. */
  sample?(context: RequestContext, notification: ReceivedNotification): unknown;
}

/**
 * As {@link NotificationEndpoint}, for a listener that takes batches: a method gets those of its priority. It returns
 * {@link REQUEUE}, or throws, when all of them are to come again, or an array of those that are.
 */
export interface BatchEndpoint extends EndpointRules {
  /** Handles notifications of this priority. */
  audit?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  debug?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  info?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  warn?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  error?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  critical?(notifications: readonly ReceivedNotification[]): unknown;
  /** Handles notifications of this priority. */
  sample?(notifications: readonly ReceivedNotification[]): unknown;
}
