import type { DescribedEvent, DescribedMethod } from './described.js';
import type { JsonSchema } from './json-schema.js';
import type { Priority } from '../priorities.js';

const TEXT: JsonSchema = { type: 'string' };

/** A request: what is in the envelope, but for the context and what a reply needs. */
export function requestMessage(
  { name, namespace, version, summary }: DescribedMethod,
  args: JsonSchema,
): JsonSchema {
  const properties = {
    method: { const: name },
    args,
    version: { const: version },
    ...(namespace !== undefined && { namespace: { const: namespace } }),
  };
  return messageOf(name, summary, properties);
}

/** The reply to a call that has not failed. */
export function resultMessage({ name }: DescribedMethod, result: JsonSchema): JsonSchema {
  return messageOf(`${name} result`, undefined, { result });
}

/** A notification, but for the context. */
export function eventMessage(
  { type, summary }: DescribedEvent,
  priority: Priority,
  payload: JsonSchema,
): JsonSchema {
  return messageOf(type, summary, {
    message_id: TEXT,
    publisher_id: { type: ['string', 'null'] },
    event_type: { const: type },
    priority: { const: priority.toUpperCase() },
    payload,
    timestamp: TEXT,
  });
}

function messageOf(name: string, summary: string | undefined, properties: JsonSchema): JsonSchema {
  return {
    name,
    ...(summary !== undefined && { summary }),
    payload: { type: 'object', required: Object.keys(properties), properties },
  };
}
