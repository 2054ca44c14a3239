import {
  type ContextValues,
  ownContext,
  refuseUnknown,
  type RequestContext,
  SerializationError,
  type Serializer,
  toPlain,
} from '@ebbgate/core';
import type { PlainArgs } from './envelope.js';

/** What can be said of one call or cast. */
export interface SendOptions {
  /** Ends the waiting: the promise rejects with the signal's reason. What was sent may still run. */
  readonly signal?: AbortSignal;
  /** Not bounded by the deadline of the request that is being served here (RPC-03). */
  readonly detached?: boolean;
}

const NO_VALUES: ContextValues = Object.freeze(Object.create(null) as Record<string, unknown>);

const SEND_OPTIONS = ['signal', 'detached'];
/** What a send has that was given no options: known by identity, so that the check costs nothing. */
export const NO_OPTIONS: SendOptions = Object.freeze({});

/**
 * A time-out given here would have no effect: it belongs to `prepare()`.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown option
 */
export function checkSendOptions(options: SendOptions): void {
  if (options !== NO_OPTIONS) refuseUnknown(options, SEND_OPTIONS);
}

/**
 * The arguments as plain data that nobody else holds.
 * @throws SerializationError naming the argument that cannot be sent
 */
export function plainArgs(
  args: object,
  context: RequestContext,
  serializer: Serializer | undefined,
): PlainArgs {
  const given = serializer && isNamed(args) ? serializedArgs(args, context, serializer) : args;
  const plain: unknown = toPlain(given, undefined, 'args');
  if (isNamed(plain)) return plain as PlainArgs; // plain throughout
  throw new SerializationError('Arguments go by name: they must be an object of them', { path: 'args' });
}

function isNamed(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of a context as plain data. */
export function plainContext(context: RequestContext, serializer: Serializer | undefined): ContextValues {
  const values = serializer ? serializer.serializeContext(context.values) : context.values;
  for (const _ in values) return ownContext(toPlain(values, undefined, 'context'));
  return NO_VALUES;
}

function serializedArgs(
  args: object,
  context: RequestContext,
  serializer: Serializer,
): Record<string, unknown> {
  const named = args instanceof Map ? [...(args as Map<unknown, unknown>)] : Object.entries(args);
  const entries = named.map(([name, value]: [unknown, unknown]) => [
    String(name),
    serializer.serializeEntity(context.values, value),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>; // fromEntries defines own members, whatever their names
}
