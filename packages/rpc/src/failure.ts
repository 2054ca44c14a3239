import { decodeJson, MessagingError, type PlainObject, type PlainValue } from '@ebbgate/core';
import { dataOf, isPlainObject, kwargsOf, memberOf, restoreData, setOwn } from './error-data.js';
import { RemoteError, type RemoteErrorDetails } from './errors.js';
import { unwrapExpected } from './expected-exceptions.js';
import {
  cleanLines,
  cleanText,
  isErrorLike,
  messageOf,
  namesOf,
  readMember,
  traceOf,
} from './failure-text.js';
import { buildOslo, buildOwn, osloName } from './own-errors.js';
import {
  OWN_MODULE,
  type RemoteErrorInfo,
  RemoteErrorRegistry,
  type WireName,
} from './remote-error-registry.js';

/**
 * An error on the wire (`wire.md` 1.8). From our own side it also has `ebbgate: { name, code?, data? }`, which keeps
 * what Python has no place for.
 */
export interface WireFailure extends PlainObject {
  /** Name of the error type, without its module: `ValueError`. */
  class: string;
  /** Where the type is from: `builtins`, `nova.exception`, … With `class` it says what may be rebuilt. */
  module: string;
  /** The text of the error. */
  message: string;
  /** Lines, each ending in a newline. */
  tb: string[];
  /** What a Python exception is made with; the message alone for an error of ours. */
  args: PlainValue[];
  /** The exception's attribute of that name (Nova's `code` and what its text names); empty when it has none. */
  kwargs: PlainObject;
}

/** How an error is encoded. */
export interface EncodeFailureOptions {
  /** Send the stack of the error and of its causes too; default false: name and message of each. */
  readonly trace?: boolean;
  /** Registered types travel under the names registered for them, so that Python can rebuild them. */
  readonly registry?: RemoteErrorRegistry;
}

const OSLO_DISPATCHER = 'oslo_messaging.rpc.dispatcher';

/** The Python names of plain errors. */
const PYTHON_NAMES: ReadonlyMap<string, string> = new Map([
  ['TypeError', 'TypeError'],
  ['RangeError', 'ValueError'],
  ['Error', 'RuntimeError'],
]);

const noTypes = new RemoteErrorRegistry();

/** How errors that came from a peer came: passed on, they are sent as they were (RPC-16). */
const origins = new WeakMap<Error, { readonly failure: WireFailure; readonly details: RemoteErrorDetails }>();

/** What the peer told of an error that came from one, and undefined for an error that was made here. */
export function remoteOrigin(error: unknown): RemoteErrorDetails | undefined {
  return error instanceof Error ? origins.get(error)?.details : undefined;
}

/**
 * Wire data of whatever a method threw. Without secrets, bounded, and without the stack unless it is asked for. Never
 * throws, whatever the getters of the error do.
 */
export function encodeFailure(thrown: unknown, options: EncodeFailureOptions = {}): WireFailure {
  try {
    return encode(unwrapExpected(thrown).error, options);
  } catch {
    const message = 'An error that cannot be read was thrown';
    return failureOf({ module: 'builtins', name: 'RuntimeError' }, message, [`RuntimeError: ${message}\n`]);
  }
}

function encode(error: unknown, options: EncodeFailureOptions): WireFailure {
  const origin = error instanceof Error ? origins.get(error) : undefined;
  if (origin) return origin.failure;
  if (error instanceof RemoteError) {
    const name = {
      module: error.remoteModule === '' ? OWN_MODULE : error.remoteModule,
      name: error.remoteType,
    };
    return failureOf(name, cleanText(error.remoteMessage), cleanLines(error.remoteTrace));
  }
  const message = cleanText(messageOf(error));
  const failure = failureOf(
    wireName(error, options.registry),
    message,
    traceOf(error, options.trace === true),
  );
  failure.kwargs = kwargsOf(error);
  failure['ebbgate'] = identityOf(error);
  return failure;
}

function failureOf(name: WireName, message: string, tb: string[]): WireFailure {
  return { class: name.name, module: name.module, message, tb, args: [message], kwargs: {} };
}

function wireName(error: unknown, registry: RemoteErrorRegistry | undefined): WireName {
  const registered = registry?.nameOf(readMember(error, 'constructor'));
  if (registered) return registered;
  const oslo = osloName(error);
  if (oslo !== undefined) return { module: OSLO_DISPATCHER, name: oslo };
  const { name } = namesOf(error);
  const python = PYTHON_NAMES.get(name);
  return python === undefined ? { module: OWN_MODULE, name } : { module: 'builtins', name: python };
}

function identityOf(error: unknown): PlainObject {
  const { name, type } = namesOf(error);
  const identity: PlainObject = { name: error instanceof MessagingError ? name : type };
  if (!isErrorLike(error)) return identity;
  const code = readMember(error, 'code');
  if (typeof code === 'string') identity['code'] = code;
  const data = dataOf(error);
  if (Object.keys(data).length > 0) identity['data'] = data;
  return identity;
}

/** A failure as far as it could be read. */
interface Received extends RemoteErrorInfo, WireName {
  readonly trace: string[];
  /** The name of the type at our own side; undefined from others. */
  readonly ownName: string | undefined;
}

/**
 * The error that a failure tells of: a registered type, one of our own family, TypeError or RangeError; anything else,
 * and whatever cannot be read, as RemoteError. Never throws. No name from the wire is looked up anywhere but in maps of
 * what was registered (SEC-01).
 *
 * @param value - JSON text, or an object that was such a text
 */
export function decodeFailure(value: unknown, registry: RemoteErrorRegistry = noTypes): Error {
  const received = readFailure(value);
  const details = detailsOf(received);
  const error = rebuild(received, registry) ?? new RemoteError(details);
  const failure = failureOf(received, received.message, received.trace);
  failure.args = [...received.args];
  failure.kwargs = received.kwargs;
  if (received.ownName !== undefined) failure['ebbgate'] = ownMember(received, received.ownName);
  origins.set(error, { failure, details });
  return error;
}

function rebuild(received: Received, registry: RemoteErrorRegistry): Error | undefined {
  const { module, name, ownName } = received;
  const registered = registry.build(module, name, received);
  if (registered) return registered;
  if (ownName !== undefined)
    return registry.build(OWN_MODULE, ownName, received) ?? rebuildOwn(ownName, received);
  if (module === OSLO_DISPATCHER) return buildOslo(name, received.message);
  return module === 'builtins' && name === 'TypeError' ? new TypeError(received.message) : undefined;
}

function rebuildOwn(name: string, received: Received): Error | undefined {
  const error = buildOwn(name, received);
  if (!error) return undefined;
  if (error.message !== received.message) setOwn(error, 'message', received.message, false);
  if (received.code !== undefined) setOwn(error, 'code', received.code, true);
  const others = Object.entries(received.data).filter(([member]) => !Object.hasOwn(error, member));
  restoreData(error, Object.fromEntries(others)); // what its class defines was checked when it was built
  return error;
}

/** Our own plain errors have Python names on the wire; their own names say more. */
function detailsOf({ module, name, ownName, message, trace }: Received): RemoteErrorDetails {
  const isOwn = ownName !== undefined && module === 'builtins';
  return Object.freeze({
    remoteType: isOwn ? ownName : name,
    remoteModule: isOwn ? OWN_MODULE : module,
    remoteMessage: message,
    remoteTrace: Object.freeze(trace),
  });
}

function ownMember({ code, data }: Received, name: string): PlainObject {
  const identity: PlainObject = { name };
  if (code !== undefined) identity['code'] = code;
  if (Object.keys(data).length > 0) identity['data'] = data;
  return identity;
}

function readFailure(value: unknown): Received {
  const failure = typeof value === 'string' ? parse(value) : value;
  const { module, name } = readName(failure);
  const own = memberOf(failure, 'ebbgate');
  const args = memberOf(failure, 'args');
  const trace = memberOf(failure, 'tb');
  return {
    module,
    name,
    message: cleanText(
      textOf(memberOf(failure, 'message')) ?? (isPlainObject(failure) ? '' : unreadable(value)),
    ),
    trace: Array.isArray(trace) ? cleanLines(trace.filter((line) => typeof line === 'string')) : [],
    args: Array.isArray(args) ? (args as PlainValue[]) : [], // members of plain data are plain
    kwargs: objectOf(memberOf(failure, 'kwargs')),
    ownName: textOf(memberOf(own, 'name')),
    code: textOf(memberOf(own, 'code')),
    data: objectOf(memberOf(own, 'data')),
  };
}

function parse(text: string): PlainValue {
  try {
    return decodeJson(text);
  } catch {
    return null; // said by the RemoteError that it leads to
  }
}

const REMOTE = '_Remote';

/** Python marks a remote error that is passed on by a suffix on both names. Its version 2 called `builtins` otherwise. */
function readName(failure: unknown): WireName {
  let name = textOf(memberOf(failure, 'class')) ?? 'unknown';
  let module = textOf(memberOf(failure, 'module')) ?? '';
  if (name.endsWith(REMOTE) && module.endsWith(REMOTE)) {
    name = name.slice(0, -REMOTE.length);
    module = module.slice(0, -REMOTE.length);
  }
  return { name: name.slice(0, 256), module: module === 'exceptions' ? 'builtins' : module.slice(0, 256) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function objectOf(value: unknown): PlainObject {
  return isPlainObject(value) ? value : {};
}

function unreadable(value: unknown): string {
  return `(a failure that cannot be read: ${typeof value === 'string' ? 'not the JSON of an object' : typeof value})`;
}
