import { MessagingError, type PlainObject, type PlainValue } from '@ebbgate/core';
import { restoreData, setOwn } from './error-data.js';

/** A class of errors that can be made from a message. */
export type RemoteErrorType = new (message: string) => Error;

/** A class of errors that is made by a function of its own. */
export type AnyErrorType = abstract new (...args: never[]) => Error;

/** What arrived of an error of a registered type. */
export interface RemoteErrorInfo {
  /** The text. */
  readonly message: string;
  /** The stable code, when the peer was one of ours. */
  readonly code: string | undefined;
  /** Own members of the error at the peer, as plain values; empty from Python. */
  readonly data: PlainObject;
  /** Positional and named arguments of a Python exception; `[message]` and `{}` from our own side. */
  readonly args: readonly PlainValue[];
  /** The named arguments that oslo.messaging sends. */
  readonly kwargs: PlainObject;
}

/** How a type is known on the wire and made again. */
export interface RemoteErrorOptions {
  /** Name on the wire; default the class's `kind` or name. */
  readonly name?: string;
  /** Module on the wire; default `ebbgate`. For errors that Python peers raise too, the Python module: `nova.exception`. */
  readonly module?: string;
  /** Makes the error; default `new Type(message)`. What it throws, or returns that is no error, leads to a RemoteError. */
  readonly build?: (info: RemoteErrorInfo) => Error;
}

/** What a type is called on the wire. */
export interface WireName {
  readonly module: string;
  readonly name: string;
}

interface Entry extends WireName {
  readonly build: (info: RemoteErrorInfo) => Error;
}

/** The module under which our own errors travel. */
export const OWN_MODULE = 'ebbgate';

/**
 * The error types that a client rebuilds, and how a server names them on the wire. Every type that is not registered
 * arrives as RemoteError, but our own family and the plain TypeError and RangeError, which need no registration
 * (SEC-01, RPC-16).
 *
 * @example
 * const remoteErrors = new RemoteErrorRegistry([QuotaError]);
 * remoteErrors.register(InstanceNotFound, { module: 'nova.exception' });
 */
export class RemoteErrorRegistry {
  readonly #byModule = new Map<string, Map<string, Entry>>();
  readonly #byType = new Map<unknown, Entry>();

  /** @throws TypeError as {@link RemoteErrorRegistry.register} does */
  constructor(types: Iterable<RemoteErrorType> = []) {
    for (const type of types) this.register(type);
  }

  /**
   * Adds a type.
   * @returns the registry itself
   * @throws TypeError when it is no class of errors, or its name is taken by another
   */
  register(type: RemoteErrorType, options?: RemoteErrorOptions): this;
  /** Adds a type whose constructor wants something else than a message: `build` makes its errors. */
  register(
    type: AnyErrorType,
    options: RemoteErrorOptions & Required<Pick<RemoteErrorOptions, 'build'>>,
  ): this;
  register(type: AnyErrorType, options: RemoteErrorOptions = {}): this {
    checkType(type);
    const name = options.name ?? kindOrName(type);
    const module = options.module ?? OWN_MODULE;
    const Type = type as RemoteErrorType; // by the overloads: without `build` it is one
    const build = options.build ?? ((info: RemoteErrorInfo) => new Type(info.message));
    if (typeof build !== 'function')
      throw new TypeError(`The option "build" of ${type.name} must be a function`);
    this.#add(type, { module, name, build });
    return this;
  }

  /** What a registered type is called on the wire; undefined when this very class is not registered. */
  nameOf(type: unknown): WireName | undefined {
    return this.#byType.get(type);
  }

  /** An error of the registered type with what the peer told of it; undefined when the name is not registered or building fails. */
  build(module: string, name: string, info: RemoteErrorInfo): Error | undefined {
    const entry = this.#byModule.get(module)?.get(name);
    if (!entry) return undefined;
    try {
      const error: unknown = entry.build(info);
      if (!(error instanceof Error)) return undefined;
      complete(error, info);
      return error;
    } catch {
      return undefined; // the constructor wants something else: the caller gets a RemoteError
    }
  }

  #add(type: AnyErrorType, entry: Entry): void {
    let names = this.#byModule.get(entry.module);
    if (!names) {
      names = new Map();
      this.#byModule.set(entry.module, names);
    }
    const taken = names.get(entry.name);
    if (taken && this.#byType.get(type) !== taken) {
      throw new TypeError(
        `Another error type is registered as ${entry.module}.${entry.name}; give this one a name of its own`,
      );
    }
    names.set(entry.name, entry);
    this.#byType.set(type, entry);
  }
}

/** The same message, code and data as at the peer. */
function complete(error: Error, info: RemoteErrorInfo): void {
  if (error.message !== info.message) setOwn(error, 'message', info.message, false);
  restoreData(error, info.data);
  if (info.code !== undefined) setOwn(error, 'code', info.code, true);
  if (error instanceof MessagingError) setOwn(error, 'outcome', 'answered', true);
}

function checkType(type: unknown): asserts type is AnyErrorType {
  if (typeof type === 'function' && (type === Error || type.prototype instanceof Error)) return;
  throw new TypeError('A registered error type must be a class that extends Error');
}

function kindOrName(type: AnyErrorType): string {
  const kind = Object.hasOwn(type, 'kind') ? (type as { kind?: unknown }).kind : undefined; // our own family has one
  return typeof kind === 'string' ? kind : type.name;
}
