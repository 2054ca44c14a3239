import { copyPlain } from './plain-copy.js';
import { estimateSize } from './plain-size.js';
import type { PlainObject, PlainValue } from './plain-value.js';
import type { ContextValues } from './request-context.js';

const PREFIX = '_context_';
/** Names of members, and the same with the prefix: there are few, and making each anew costs more than the member itself. */
const prefixed = new Map<string, string>();
const unprefixed = new Map<string, string>();
const MOST_NAMES = 256;
const LONGEST_NAME = 64;

/** Writes the members of a context into the inner object of a message: `_context_<name>` each. */
export function addContext(inner: Record<string, unknown>, context: ContextValues): void {
  for (const name of Object.keys(context)) inner[prefixedName(name)] = context[name];
}

/** The members of the context in the inner object of a message. */
export function readContext(inner: PlainObject): ContextValues {
  const context = Object.create(null) as Record<string, unknown>; // keyed by the wire
  for (const key of Object.keys(inner)) {
    if (key.startsWith(PREFIX)) context[unprefixedName(key)] = inner[key];
  }
  return context;
}

/** A context that is its holder's own: without a prototype, as one that came off a wire. */
export function ownContext(values: PlainValue): ContextValues {
  return Object.assign(Object.create(null) as Record<string, unknown>, values);
}

/** A copy that shares nothing with the context, which was made plain when it was sent. */
export function copyContext(context: ContextValues): ContextValues {
  return ownContext(copyPlain(plainValues(context)));
}

/** An estimate of the bytes that the members take. */
export function contextSize(context: ContextValues): number {
  return estimateSize(context as PlainObject); // made plain when it was sent
}

function prefixedName(name: string): string {
  return prefixed.get(name) ?? kept(prefixed, name, PREFIX + name);
}

function unprefixedName(key: string): string {
  return unprefixed.get(key) ?? kept(unprefixed, key, key.slice(PREFIX.length));
}

/** What comes off a wire must not grow it without end. */
function kept(names: Map<string, string>, from: string, to: string): string {
  if (names.size < MOST_NAMES && from.length <= LONGEST_NAME) names.set(from, to);
  return to;
}

/** The members of a context, which were made plain when it was sent. */
function plainValues(context: ContextValues): PlainObject {
  return { ...context } as PlainObject;
}
