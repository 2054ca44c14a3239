import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import type { ApiVersion } from './microversion.js';
import { badRequest } from './http-error.js';

/** What zod tells of a value that does not fit. */
type Issue = z.core.$ZodIssue;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A text of a client: without a NUL and halves of characters, which not every database can hold. */
export const plainText: z.ZodString = z
  .string()
  .max(255)
  .regex(/^[^\0\p{Cs}]*$/u, { error: 'It must not have a NUL, or half a character' });

/** Is it written as a uuid is? */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * The query or the body of a request, as the schema of its version has it; undefined when nothing is read.
 * @throws HttpError 400 that names the field, and shows no value
 */
export function readInput<T>(
  what: 'query' | 'body',
  versions: Versioned<T> | undefined,
  { minor, ebbgate: own }: ApiVersion,
  value: unknown,
): T {
  const schema = versions?.findLast(({ since, ebbgate = 0 }) => since <= minor && ebbgate <= own)?.schema;
  if (!schema) return undefined as T; // a route that reads nothing has undefined as its type
  const result = schema.safeParse(what === 'query' ? (value ?? {}) : value);
  if (result.success) return result.data;
  throw badRequest(describe(what, result.error.issues[0]));
}

function describe(what: string, issue: Issue | undefined): string {
  if (!issue) return `Invalid ${what}`;
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((name) => `'${shown(name)}'`).join(', ');
    return `Additional properties are not allowed (${names} ${issue.keys.length === 1 ? 'was' : 'were'} unexpected)`;
  }
  if (issue.path.length === 0) return `The ${what} of the request is invalid: ${issue.message}`;
  const field = issue.path.map((part) => shown(String(part))).join('.');
  return `Invalid input for field/attribute ${field}. ${issue.message}`;
}

/** Names are the client's: shown in part. */
export function shown(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
