import { type MaybePromise, redactText } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ValidationError, type ValidationIssue } from './errors.js';

/** What is checked, for the error that says so. */
export interface Checked {
  readonly method: string;
  readonly part: 'arguments' | 'result';
}

/** Most issues that are told of one value, and most characters of one. */
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
  const issues = outcome.issues.slice(0, MOST_ISSUES).map((issue) => issueOf(issue, given, checked.part));
  throw new ValidationError(checked.method, issues, { part: checked.part });
}

function issueOf(issue: StandardSchemaV1.Issue, given: unknown, part: Checked['part']): ValidationIssue {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === 'object' ? segment.key : segment));
  const message = withoutValue(issue.message, valueAt(given, keys));
  return { path: pathText(part === 'result' ? ['result', ...keys] : keys), message };
}

/** `disk[3].size` */
function pathText(keys: readonly PropertyKey[]): string {
  let path = '';
  for (const key of keys) {
    if (typeof key === 'number') path += `[${String(key)}]`;
    else path += path === '' ? String(key) : `.${String(key)}`;
  }
  return path.slice(0, MOST_TEXT);
}

function valueAt(given: unknown, keys: readonly PropertyKey[]): unknown {
  let at = given;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key]; // its own
  }
  return at;
}

/**
 * Some schema libraries repeat the value in their messages ("received 'hunter2'"); it must not get into logs (RPC-08).
 * Only where it stands alone: the 1 in "at least 10" is another one.
 */
function withoutValue(message: string, value: unknown): string {
  const short = message.slice(0, MOST_TEXT * 4);
  const shown =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : '';
  return redactText(shown === '' ? short : hide(short, shown)).slice(0, MOST_TEXT);
}

function hide(message: string, value: string): string {
  const parts = message.replaceAll(JSON.stringify(value), '…').split(value);
  return parts.reduce((text, part) => `${text}${/\w$/.test(text) || /^\w/.test(part) ? value : '…'}${part}`);
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
