import { type CatalogueEndpoint, catalogueEndpoint, type CatalogueHandlers } from './catalogue-endpoint.js';
import { type EventNotifier, eventNotifier, type PayloadNotifier } from './event-notifier.js';
import { checkEvents, type Events } from './events.js';

/** Events that are declared once for those who send and those who listen. Made by {@link defineEvents}. */
export interface EventCatalogue<All extends Events = Events> {
  /** By their types. */
  readonly events: All;
  /** The notifier that sends these events and no others, each with a payload that fits. */
  notifier<Context>(notifier: PayloadNotifier<Context>): EventNotifier<All, Context>;
  /**
   * An endpoint of these handlers, for a notification listener, with the schemas by which that checks payloads: no handler
   * sees one that does not fit. Other events are left to other endpoints.
   *
   * @throws TypeError for a handler of an event that the catalogue does not have
   */
  endpoint(handlers: CatalogueHandlers<All>): CatalogueEndpoint;
}

/**
 * Declares events, once for both sides.
 *
 * @example
 * const catalogue = defineEvents({
 *   'disk.full': { payload: z.object({ disk: z.string() }), priorities: ['warn', 'error'] },
 * });
 * await catalogue.notifier(notifier).warn(context, 'disk.full', { disk: '/dev/vda' });
 * const endpoint = catalogue.endpoint({ 'disk.full': (_context, { payload }) => page(payload.disk) });
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) naming the event, for a type that is no name, a payload that is no
 * schema, or a priority that does not exist
 */
export function defineEvents<const All extends Events>(events: All): EventCatalogue<All> {
  checkEvents(events);
  const own = Object.freeze({ ...events });
  return Object.freeze<EventCatalogue<All>>({
    events: own,
    notifier: (notifier) => eventNotifier(own, notifier),
    endpoint: (handlers) => catalogueEndpoint(own, handlers),
  });
}
