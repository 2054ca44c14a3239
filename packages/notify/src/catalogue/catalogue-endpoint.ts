import type { RequestContext } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ReceivedNotification } from '../endpoint.js';
import { type Events, type PayloadOutput, type PrioritiesOf, prioritiesOf } from './events.js';
import { PRIORITIES, type Priority } from '../priorities.js';

/** One event that has arrived, as a listener hands it over; the payload is as its schema makes it. */
export interface ReceivedEvent<
  Type extends string = string,
  At extends string = string,
  Payload = unknown,
> extends ReceivedNotification<Payload> {
  /** What has happened. */
  readonly eventType: Type;
  /** In lower case. */
  readonly priority: At;
}

/** What is done with events, by their types. What a handler returns is the answer to the listener. */
export type CatalogueHandlers<All extends Events> = {
  readonly [Type in keyof All & string]?: (
    context: RequestContext,
    event: ReceivedEvent<Type, PrioritiesOf<All[Type]>, PayloadOutput<All[Type]>>,
  ) => unknown;
};

/** What a listener calls for a notification of one priority. */
export type CatalogueMethod = (context: RequestContext, event: ReceivedEvent) => unknown;

/** An endpoint for a notification listener: a method for each priority that an event with a handler has. */
export type CatalogueEndpoint = {
  readonly [Each in Priority]?: CatalogueMethod;
} & {
  /** By which the listener checks payloads before it hands them over. */
  readonly payloads: Readonly<Record<string, StandardSchemaV1>>;
};

export function catalogueEndpoint<All extends Events>(
  events: All,
  handlers: CatalogueHandlers<All>,
): CatalogueEndpoint {
  const handled = handledEvents(events, handlers);
  const methods = PRIORITIES.filter((priority) =>
    [...handled.values()].some(({ priorities }) => priorities.includes(priority)),
  ).map((priority) => [priority, methodFor(handled, priority)] as const);
  const payloads = [...handled].map(([type, { payload }]) => [type, payload] as const);
  return Object.freeze({
    payloads: Object.freeze(Object.fromEntries(payloads)),
    ...Object.fromEntries(methods),
  });
}

interface Handled {
  readonly run: CatalogueMethod;
  readonly payload: StandardSchemaV1;
  readonly priorities: readonly Priority[];
}

function handledEvents<All extends Events>(
  events: All,
  handlers: CatalogueHandlers<All>,
): ReadonlyMap<string, Handled> {
  const given = Object.entries(handlers) as [string, CatalogueMethod | undefined][]; // each is called with its own event
  return new Map(
    given.flatMap(([type, run]) => {
      const event = Object.hasOwn(events, type) ? events[type] : undefined;
      if (!event) throw new TypeError(`The catalogue has no event "${type}"`);
      const about = { payload: event.payload, priorities: prioritiesOf(event) };
      return run ? [[type, { run, ...about }] as const] : [];
    }),
  );
}

/** What has no handler, or not with this priority, is somebody else's, and counts as handled. */
function methodFor(handled: ReadonlyMap<string, Handled>, priority: Priority): CatalogueMethod {
  return (context, event) => {
    const handler = handled.get(event.eventType);
    return handler?.priorities.includes(priority) === true ? handler.run(context, event) : undefined;
  };
}
