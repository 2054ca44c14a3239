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
export { EVENT_PRIORITIES, type EventPriority } from './catalogue/priorities.js';
