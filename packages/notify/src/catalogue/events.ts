import { ConfigurationError } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PRIORITIES, type Priority } from '../priorities.js';

/** One event, as it is declared. */
export interface EventOptions {
  /** Any Standard Schema (zod, valibot, arktype, …); what it makes of a payload is sent, so that must be plain data. */
  readonly payload: StandardSchemaV1;
  /** With which it may be sent; default `info` alone. */
  readonly priorities?: readonly Priority[];
  /** When it is sent, in words for people. */
  readonly description?: string;
}

/** Events by their types, `service.update`. */
export type Events = Readonly<Record<string, EventOptions>>;

/** The priorities of an event; any, for the compiler, of one whose declaration it has not seen. */
export type PrioritiesOf<Event extends EventOptions> = Event extends {
  readonly priorities: readonly (infer Own)[];
}
  ? Own
  : EventOptions extends Event
    ? Priority
    : 'info';

/** The types of the events that may be sent with a priority. */
export type EventTypeAt<All extends Events, At extends Priority> = {
  [Type in keyof All & string]: At extends PrioritiesOf<All[Type]> ? Type : never;
}[keyof All & string];

/** What is given to be sent as the payload of an event. */
export type PayloadInput<Event extends EventOptions> = StandardSchemaV1.InferInput<Event['payload']>;
/** What a handler gets of the payload of an event. */
export type PayloadOutput<Event extends EventOptions> = StandardSchemaV1.InferOutput<Event['payload']>;

/** With which an event may be sent. */
export function prioritiesOf({ priorities = ['info'] }: EventOptions): readonly Priority[] {
  return priorities;
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) naming the event */
export function checkEvents(events: Events): void {
  const all = Object.entries(events);
  if (all.length === 0) throw new ConfigurationError('A catalogue needs at least one event');
  for (const [type, { payload, priorities }] of all) {
    if (!isTypeName(type)) {
      throw new ConfigurationError(
        `An event cannot have the type ${JSON.stringify(type.slice(0, 64))}: it must be text without blanks`,
      );
    }
    if (!isSchema(payload)) {
      throw new ConfigurationError(
        `The "payload" of the event "${type}" must be a Standard Schema, such as that of zod`,
      );
    }
    if (priorities) checkPriorities(type, priorities);
  }
}

function checkPriorities(type: string, priorities: readonly string[]): void {
  const known: readonly string[] = PRIORITIES;
  if (priorities.length > 0 && priorities.every((one) => known.includes(one))) return;
  throw new ConfigurationError(
    `The event "${type}" needs at least one priority, each of them one of ${PRIORITIES.join(', ')}`,
  );
}

function isTypeName(type: string): boolean {
  return /^\S{1,255}$/.test(type) && type !== '__proto__';
}

function isSchema(schema: unknown): boolean {
  const isHolder = (typeof schema === 'object' || typeof schema === 'function') && schema !== null;
  const standard = isHolder ? (schema as Partial<StandardSchemaV1>)['~standard'] : undefined; // may be anything
  return typeof standard?.validate === 'function';
}
