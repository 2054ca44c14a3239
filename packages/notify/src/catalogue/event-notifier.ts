import { type Events, type EventTypeAt, type PayloadInput, prioritiesOf } from './events.js';
import { validPayload } from './event-payload.js';
import { PRIORITIES, type Priority } from '../priorities.js';

/** What a catalogue needs of a notifier: a method for each priority. */
export type PayloadNotifier<Context> = {
  readonly [Each in Priority]: (context: Context, eventType: string, payload: unknown) => Promise<void>;
};

/**
 * A notifier for the events of a catalogue. Each method takes the events that have its priority; the type of the event and
 * its payload are checked by the compiler, the payload again by its schema. Rejects with EventValidationError
 * (`ERR_EVENT_PAYLOAD`), and nothing is sent, for a payload that does not fit; else as the notifier does that it wraps.
 */
export type EventNotifier<All extends Events, Context> = {
  readonly [Each in Priority]: <Type extends EventTypeAt<All, Each>>(
    context: Context,
    eventType: Type,
    payload: PayloadInput<All[Type]>,
  ) => Promise<void>;
};

export function eventNotifier<All extends Events, Context>(
  events: All,
  notifier: PayloadNotifier<Context>,
): EventNotifier<All, Context> {
  const senders = PRIORITIES.map((priority) => {
    const send = async (context: Context, eventType: string, payload: unknown): Promise<void> => {
      const event = eventOf(events, eventType, priority);
      await notifier[priority](context, eventType, await validPayload(eventType, event, payload));
    };
    return [priority, send] as const;
  });
  return Object.freeze(Object.fromEntries(senders)) as EventNotifier<All, Context>; // one for each priority
}

/** The compiler has seen to it, but not for callers in plain JavaScript. */
function eventOf(events: Events, eventType: string, priority: Priority): Events[string] {
  const event = Object.hasOwn(events, eventType) ? events[eventType] : undefined;
  if (!event) throw new TypeError(`The catalogue has no event "${eventType}"`);
  if (!prioritiesOf(event).includes(priority))
    throw new TypeError(`The event "${eventType}" is not sent with the priority ${priority}`);
  return event;
}
