import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

/** A JSON Schema, draft 07, as AsyncAPI has them. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What may be said of a value of which nothing is known. */
export const ANYTHING: JsonSchema = Object.freeze({});

/** What the target of all schemas is: AsyncAPI's own are a superset of it. */
const TARGET = 'draft-07';

/** Libraries that refuse a part of a schema by default, and what has them leave only that part open. */
const LENIENT: Readonly<Record<string, Record<string, unknown>>> = { zod: { unrepresentable: 'any' } };

/**
 * The JSON Schema of a Standard Schema whose library gives one (Standard JSON Schema, as zod has it). Any value fits where
 * it gives none, and a `$comment` says so.
 *
 * @param side - what the schema takes, or what it makes of that
 */
export function jsonSchemaOf(schema: StandardSchemaV1, side: 'input' | 'output'): JsonSchema {
  const { vendor, jsonSchema } = schema['~standard'] as StandardSchemaV1.Props &
    Partial<StandardJSONSchemaV1.Props>; // it is the same object where a library has both
  if (!jsonSchema) return { $comment: `${vendor} gives no JSON Schema` };
  try {
    const libraryOptions = Object.hasOwn(LENIENT, vendor) ? LENIENT[vendor] : undefined;
    return withoutDialect(jsonSchema[side]({ target: TARGET, libraryOptions }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { $comment: `${vendor} gives no JSON Schema: ${why.slice(0, 200)}` };
  }
}

/** The document says which dialect all of its schemas are in. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema'));
}

/**
 * The same schema where it stands in a document: what refers to its root or to its own definitions finds them there.
 * @param place - its JSON Pointer, `#/components/schemas/Disk`
 */
export function placedAt(schema: JsonSchema, place: string): JsonSchema {
  return placed(schema, place) as JsonSchema; // an object stays one
}

function placed(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map((member) => placed(member, place));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && isWithin(member) ? `${place}${member.slice(1)}` : placed(member, place),
    ]),
  );
}

/** A reference within the schema, and not to another one of the document. */
function isWithin(reference: unknown): reference is string {
  return typeof reference === 'string' && reference.startsWith('#') && !reference.startsWith('#/components/');
}
