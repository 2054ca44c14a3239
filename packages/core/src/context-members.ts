import { copyPlain } from './plain-copy.js';
import { estimateSize } from './plain-size.js';
import type { PlainObject, PlainValue } from './plain-value.js';
import type { ContextValues } from './request-context.js';

const PREFIX = '_context_';

/** Writes the members of a context into the inner object of a message: `_context_<name>` each. */
export function addContext(inner: Record<string, unknown>, context: ContextValues): void {
  for (const name of Object.keys(context)) inner[PREFIX + name] = context[name];
}

/** The members of the context in the inner object of a message. */
export function readContext(inner: PlainObject): ContextValues {
  const context = Object.create(null) as Record<string, unknown>; // keyed by the wire
  for (const key of Object.keys(inner)) {
    if (key.startsWith(PREFIX)) context[key.slice(PREFIX.length)] = inner[key];
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
  return estimateSize(plainValues(context));
}

/** The members of a context, which were made plain when it was sent. */
function plainValues(context: ContextValues): PlainObject {
  return { ...context } as PlainObject;
}
