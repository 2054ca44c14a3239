import {
  AuthenticationError,
  BackpressureError,
  ConfigurationError,
  DriverLoadError,
  InvalidTargetError,
  InvalidTransportUrlError,
  MessageDeliveryError,
  MessageUndeliverableError,
  MessagingError,
  type MessagingErrorOptions,
  MessagingTimeoutError,
  type PlainObject,
  SerializationError,
  ServerListenError,
  ServerWaitTimeoutError,
  TransportClosedError,
} from '@ebbgate/core';
import { isPlainObject, memberOf } from './error-data.js';
import {
  DrainingError,
  NoSuchMethodError,
  RpcVersionCapError,
  UnsupportedVersionError,
  ValidationError,
  type ValidationIssue,
} from './errors.js';

/** What a peer told of an error, checked. */
export interface ReceivedError {
  readonly message: string;
  readonly code: string | undefined;
  readonly data: PlainObject;
}

type Build = (received: ReceivedError) => Error;

/** A remote error was answered by definition: the peer says so itself. */
const ANSWERED: MessagingErrorOptions = Object.freeze({ outcome: 'answered' });
const MOST_ISSUES = 100;

const WITH_A_MESSAGE = [
  MessagingTimeoutError,
  MessageDeliveryError,
  MessageUndeliverableError,
  BackpressureError,
  InvalidTransportUrlError,
  ConfigurationError,
  DriverLoadError,
  ServerListenError,
  AuthenticationError,
  TransportClosedError,
  DrainingError,
] as const;

/** Every type of our own, by its `kind`: the fixed list beside which only registered types are rebuilt (SEC-01). */
const family: ReadonlyMap<string, Build> = new Map<string, Build>([
  ...WITH_A_MESSAGE.map((Type): [string, Build] => [Type.kind, ({ message }) => new Type(message, ANSWERED)]),
  [
    'MessagingError',
    ({ message, code }) =>
      new MessagingError(message, { ...ANSWERED, ...(code === undefined ? {} : { code }) }),
  ],
  [
    'InvalidTargetError',
    ({ message, data }) => new InvalidTargetError(message, optionalText(data, 'target'), ANSWERED),
  ],
  [
    'SerializationError',
    ({ message, data }) => new SerializationError(message, { ...ANSWERED, path: text(data, 'path') }),
  ],
  [
    'ServerWaitTimeoutError',
    ({ message, data }) => new ServerWaitTimeoutError(message, counts(data), ANSWERED),
  ],
  ['NoSuchMethodError', ({ data }) => new NoSuchMethodError(text(data, 'method'), ANSWERED)],
  [
    'UnsupportedVersionError',
    ({ data }) => new UnsupportedVersionError(text(data, 'version'), optionalText(data, 'method'), ANSWERED),
  ],
  [
    'RpcVersionCapError',
    ({ data }) => new RpcVersionCapError(optionalText(data, 'version'), text(data, 'versionCap'), ANSWERED),
  ],
  ['ValidationError', ({ data }) => new ValidationError(text(data, 'method'), issues(data), ANSWERED)],
  ['RangeError', ({ message }) => new RangeError(message)],
  ['TypeError', ({ message }) => new TypeError(message)],
]);

/** An error of our own family, or TypeError or RangeError, by the name it was sent under; undefined for any other name. */
export function buildOwn(name: string, received: ReceivedError): Error | undefined {
  const error = family.get(name)?.(received);
  // The right name with another code comes from somebody else's class.
  return error instanceof MessagingError && error.code !== received.code ? undefined : error;
}

const NO_METHOD = /^Endpoint does not support RPC method ([^]*)$/;
const NO_VERSION = /^Endpoint does not support RPC version (\S+?)(?:\. Attempted method: ([^]*))?$/;

/** What oslo.messaging's dispatcher answers with. It sends no members: they stand in the text. */
export function buildOslo(type: string, message: string): Error | undefined {
  if (type === 'NoSuchMethod') {
    return new NoSuchMethodError(NO_METHOD.exec(message)?.[1] ?? '', ANSWERED);
  }
  if (type !== 'UnsupportedVersion') return undefined;
  const [, version = '', method] = NO_VERSION.exec(message) ?? [];
  return new UnsupportedVersionError(version, method, ANSWERED);
}

/** The wire name of the two errors that oslo.messaging's dispatcher has too; undefined for others. */
export function osloName(error: unknown): string | undefined {
  if (error instanceof NoSuchMethodError) return 'NoSuchMethod';
  return error instanceof UnsupportedVersionError ? 'UnsupportedVersion' : undefined;
}

function optionalText(data: PlainObject, name: string): string | undefined {
  const value = memberOf(data, name);
  return typeof value === 'string' ? value : undefined;
}

function text(data: PlainObject, name: string): string {
  return optionalText(data, name) ?? '';
}

function counts(data: PlainObject): { running: number; released: number } {
  const running = memberOf(data, 'running');
  const released = memberOf(data, 'released');
  return {
    running: typeof running === 'number' ? running : 0,
    released: typeof released === 'number' ? released : 0,
  };
}

function issues(data: PlainObject): ValidationIssue[] {
  const sent = memberOf(data, 'issues');
  if (!Array.isArray(sent)) return [];
  return sent
    .slice(0, MOST_ISSUES)
    .flatMap((issue) =>
      isPlainObject(issue) ? [{ path: text(issue, 'path'), message: text(issue, 'message') }] : [],
    );
}
