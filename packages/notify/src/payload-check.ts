import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Most places that are told of one payload. */
const MOST_PLACES = 10;

/** What a schema makes of a payload; or where the payload does not fit, without its content. */
export type Checked =
  | { readonly isValid: true; readonly payload: unknown }
  | { readonly isValid: false; readonly detail: string };

/** Checks a payload. Rejects with what the schema throws. */
export async function checkPayload(
  schema: StandardSchemaV1,
  payload: unknown,
  eventType: string,
): Promise<Checked> {
  const outcome = await schema['~standard'].validate(payload);
  if (!outcome.issues) return { isValid: true, payload: outcome.value };
  const places = outcome.issues.slice(0, MOST_PLACES).map(placeOf);
  const detail = `The payload of "${eventType}" does not fit its schema at ${places.join(', ')}`;
  return { isValid: false, detail };
}

function placeOf({ path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
  return keys.length === 0 ? 'its top' : keys.join('.').slice(0, 100);
}
