import { redactText } from './redact.js';

/** What a Standard Schema finds wrong with a value. */
export interface FoundIssue {
  /** In the words of the schema library, which may repeat the value. */
  readonly message: string;
  /** Where; absent: the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** One thing that is wrong with a value, as it may be logged and sent. */
export interface SchemaIssue {
  /** Where: `disk[3].size`; empty for the value as a whole. */
  readonly path: string;
  /** What is wrong, without the value. */
  readonly message: string;
}

/** Most issues that are told of one value, and most characters of one. */
const MOST_ISSUES = 20;
const MOST_TEXT = 300;

/**
 * The issues of a value, without the value itself, which must not get into logs or errors (RPC-08).
 *
 * @param given - the value that was checked
 * @param at - where that stands in what the reader knows, as the first part of each path
 */
export function schemaIssues(
  found: readonly FoundIssue[],
  given: unknown,
  at: readonly PropertyKey[] = [],
): readonly SchemaIssue[] {
  return found.slice(0, MOST_ISSUES).map(({ message, path = [] }) => {
    const keys = path.map((segment) => (typeof segment === 'object' ? segment.key : segment));
    return { path: pathText([...at, ...keys]), message: withoutValue(message, valueAt(given, keys)) };
  });
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
 * Some schema libraries repeat the value in their messages ("received 'hunter2'"). Hidden only where it stands alone: the 1
 * in "at least 10" is another one.
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
