export { asyncApiOf, type AsyncApiDocument, type AsyncApiOptions } from './catalogue/asyncapi.js';
export {
  type DescribedContract,
  type DescribedEvent,
  type DescribedMethod,
  eventsOf,
  methodsOf,
} from './catalogue/described.js';
export { defineEvents, type EventCatalogue } from './catalogue/event-catalogue.js';
export type {
  CatalogueEndpoint,
  CatalogueHandlers,
  CatalogueMethod,
  ReceivedEvent,
} from './catalogue/catalogue-endpoint.js';
export { EventValidationError } from './catalogue/event-error.js';
export type { EventNotifier, PayloadNotifier } from './catalogue/event-notifier.js';
export type {
  EventOptions,
  Events,
  EventTypeAt,
  PayloadInput,
  PayloadOutput,
  PrioritiesOf,
} from './catalogue/events.js';
export type { JsonSchema } from './catalogue/json-schema.js';
export type { BatchOptions } from './batch-collector.js';
export type {
  NotificationDriver,
  NotificationDriverName,
  NotificationSending,
} from './drivers/notification-driver.js';
export { TestDriver } from './drivers/test.js';
export {
  type BatchEndpoint,
  type EndpointRules,
  HANDLED,
  type NotificationEndpoint,
  type ReceivedNotification,
  REQUEUE,
} from './endpoint.js';
export { type FilterRules, NotificationFilter } from './filter.js';
export { NotificationListener, type NotificationListenerCounts } from './listener.js';
export type { NotificationListenerOptions, RequeueSettings } from './listener-options.js';
export type { IncomingNotification } from './notification-message.js';
export type { Notification } from './notification.js';
export { Notifier } from './notifier.js';
export type { NotifierOptions, NotifierPrepareOptions } from './notifier-options.js';
export type { NotifierCounts, NotifierEvents, Undelivered } from './outbox.js';
export { PRIORITIES, type Priority } from './priorities.js';
