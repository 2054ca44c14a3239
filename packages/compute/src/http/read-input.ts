import type { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { badRequest } from './http-error.js';

/** What zod tells of a value that does not fit. */
type Issue = z.core.$ZodIssue;

/**
 * The query or the body of a request, as the schema of its version has it; undefined when nothing is read.
 * @throws HttpError 400 that names the field, and shows no value
 */
export function readInput<T>(
  what: 'query' | 'body',
  versions: Versioned<T> | undefined,
  minor: number,
  value: unknown,
): T {
  const schema = versions?.findLast(({ since }) => since <= minor)?.schema;
  if (!schema) return undefined as T; // a route that reads nothing has undefined as its type
  const result = schema.safeParse(value ?? (what === 'query' ? {} : undefined));
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
function shown(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
