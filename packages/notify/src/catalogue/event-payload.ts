import { schemaIssues } from '@ebbgate/core';
import { EventValidationError } from './event-error.js';
import type { EventOptions } from './events.js';

/**
 * What the schema of an event makes of a payload.
 * @throws EventValidationError (`ERR_EVENT_PAYLOAD`), without the payload
 */
export async function validPayload(
  eventType: string,
  { payload: schema }: EventOptions,
  payload: unknown,
): Promise<unknown> {
  const outcome = await schema['~standard'].validate(payload);
  if (!outcome.issues) return outcome.value;
  throw new EventValidationError(eventType, schemaIssues(outcome.issues, payload));
}
