import { type MaybePromise, schemaIssues } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ValidationError, type ValidationIssue } from './errors.js';

/** What is checked, for the error that says so. */
export interface Checked {
  readonly method: string;
  readonly part: 'arguments' | 'result';
}

/** Most unknown arguments that are told, and most characters of the name of one. */
const MOST_ISSUES = 20;
const MOST_TEXT = 300;

/**
 * What a schema makes of a value: at once when the schema works at once.
 * @throws (or rejects with) ValidationError (`ERR_VALIDATION`), without the value
 */
export function validate(schema: StandardSchemaV1, value: unknown, checked: Checked): MaybePromise<unknown> {
  const outcome = schema['~standard'].validate(value);
  if (!(outcome instanceof Promise)) return valueOf(outcome, value, checked);
  return outcome.then((later) => valueOf(later, value, checked));
}

function valueOf(outcome: StandardSchemaV1.Result<unknown>, given: unknown, checked: Checked): unknown {
  if (!outcome.issues) return outcome.value;
  const at = checked.part === 'result' ? ['result'] : [];
  throw new ValidationError(checked.method, schemaIssues(outcome.issues, given, at), { part: checked.part });
}

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * Arguments that the schema left out, and any at all where there is none: the sender believes in arguments that this
 * side does not know (RPC-13).
 * @throws ValidationError (`ERR_VALIDATION`) naming them
 */
export function refuseUnknown(method: string, given: object, kept: unknown = NOTHING): void {
  if (typeof kept !== 'object' || kept === null) return; // made into something else: the schema has said what it takes
  let unknown: ValidationIssue[] | undefined;
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(kept, name) || name in kept) continue;
    unknown ??= [];
    if (unknown.length < MOST_ISSUES)
      unknown.push({ path: name.slice(0, MOST_TEXT), message: 'unknown argument' });
  }
  if (unknown) throw new ValidationError(method, unknown);
}
