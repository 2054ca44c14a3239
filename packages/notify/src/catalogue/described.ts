import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { EventCatalogue } from './event-catalogue.js';
import { prioritiesOf } from './events.js';
import { ANYTHING, type JsonSchema, jsonSchemaOf } from './json-schema.js';
import type { Priority } from '../priorities.js';

/** A method that a service answers to, for a document. */
export interface DescribedMethod {
  /** By which it is called. */
  readonly name: string;
  /** Where its servers listen. */
  readonly topic: string;
  /** Undefined: the null namespace. */
  readonly namespace: string | undefined;
  /** What its requests carry. */
  readonly version: string;
  /** Whether it is answered. */
  readonly kind: 'call' | 'cast';
  /** An object of them by name. */
  readonly args: JsonSchema;
  /** Of a call. */
  readonly result: JsonSchema;
  /** In words for people. */
  readonly summary?: string;
}

/** An event that a service sends, for a document. */
export interface DescribedEvent {
  /** `service.update`. */
  readonly type: string;
  /** Where its listeners listen: each priority is a queue of its own, `notifications.info`. */
  readonly topic: string;
  /** With which it may be sent. */
  readonly priorities: readonly Priority[];
  /** Of what listeners get. */
  readonly payload: JsonSchema;
  /** In words for people. */
  readonly summary?: string;
}

/** As much of a contract of `@ebbgate/rpc` as a document tells. */
export interface DescribedContract {
  /** Undefined: the null namespace. */
  readonly namespace: string | undefined;
  /** The newest. */
  readonly version: string;
  /** By name. */
  readonly methods: Readonly<
    Record<
      string,
      {
        readonly since: string;
        readonly kind: 'call' | 'cast';
        readonly args: StandardSchemaV1 | undefined;
        readonly result: StandardSchemaV1 | undefined;
      }
    >
  >;
}

/** What takes no arguments gets an empty object. */
const NO_ARGUMENTS: JsonSchema = { type: 'object', additionalProperties: false };

/** The methods of a contract, as servers on a topic have them. */
export function methodsOf(contract: DescribedContract, topic: string): readonly DescribedMethod[] {
  return Object.entries(contract.methods).map(([name, { since, kind, args, result }]) => ({
    name,
    topic,
    namespace: contract.namespace,
    version: since,
    kind,
    args: args ? jsonSchemaOf(args, 'input') : NO_ARGUMENTS,
    result: result ? jsonSchemaOf(result, 'output') : ANYTHING,
  }));
}

/** The events of a catalogue, as they go to a topic. */
export function eventsOf(
  { events }: Pick<EventCatalogue, 'events'>,
  topic: string,
): readonly DescribedEvent[] {
  const known = new Map<StandardSchemaV1, JsonSchema>();
  const payloadOf = (schema: StandardSchemaV1): JsonSchema => {
    const payload = known.get(schema) ?? jsonSchemaOf(schema, 'output');
    known.set(schema, payload);
    return payload;
  };
  return Object.entries(events).map(([type, event]) => ({
    type,
    topic,
    priorities: prioritiesOf(event),
    payload: payloadOf(event.payload),
    ...(event.description !== undefined && { summary: event.description }),
  }));
}
