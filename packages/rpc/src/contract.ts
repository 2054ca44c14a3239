import { ConfigurationError } from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { checkVersion, isCompatible } from './version.js';

/** Whether the sender waits for a result. */
export type MethodKind = 'call' | 'cast';

/** Any Standard Schema (zod, valibot, arktype, …), or none. */
export type MaybeSchema = StandardSchemaV1 | undefined;

/** One method of a contract, as given to {@link method}. */
export interface MethodOptions<
  Kind extends MethodKind,
  Args extends MaybeSchema,
  Result extends MaybeSchema,
> {
  /** The version of the contract in which the method appeared; calls carry it. */
  readonly since: string;
  /** `call` is answered, `cast` is not. */
  readonly kind: Kind;
  /** Schema of the arguments, an object of them by name. Absent: the method takes none. */
  readonly args?: Args;
  /** Schema of the result of a call; what it makes of the result is sent, so that must be plain data. Absent: anything. */
  readonly result?: Result;
}

/** One method of a contract, complete. */
export interface Method<
  Kind extends MethodKind = MethodKind,
  Args extends MaybeSchema = MaybeSchema,
  Result extends MaybeSchema = MaybeSchema,
> {
  /** The version of the interface in which it appeared. */
  readonly since: string;
  /** Whether it is answered. */
  readonly kind: Kind;
  /** Schema of the arguments. */
  readonly args: Args;
  /** Schema of the result. */
  readonly result: Result;
}

/** Methods by name. */
export type Methods = Readonly<Record<string, Method>>;

/** An interface that a client and an endpoint have in common. Made by {@link defineContract}. */
export interface Contract<All extends Methods = Methods> {
  /** Undefined: the null namespace. */
  readonly namespace: string | undefined;
  /** The newest version: what an endpoint of the contract serves. */
  readonly version: string;
  /** By name. */
  readonly methods: All;
}

/** What a client gives: undefined for a method without arguments. */
export type ArgsInput<M extends Method> = M['args'] extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<M['args']>
  : undefined;

/** What a method gets: an empty object when it has no arguments. */
export type ArgsOutput<M extends Method> = M['args'] extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<M['args']>
  : Readonly<Record<string, never>>;

/** What a method may return: anything from a cast, for nobody gets it. */
export type ResultInput<M extends Method> = M['result'] extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<M['result']>
  : unknown;

/** What the caller of a call gets. */
export type ResultOutput<M extends Method> = M['result'] extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<M['result']>
  : unknown;

/** A call, with its schemas. */
export function method<Args extends MaybeSchema = undefined, Result extends MaybeSchema = undefined>(
  options: MethodOptions<'call', Args, Result>,
): Method<'call', Args, Result>;
/** A cast, with the schema of its arguments. */
export function method<Args extends MaybeSchema = undefined>(
  options: MethodOptions<'cast', Args, undefined>,
): Method<'cast', Args>;
export function method(options: MethodOptions<MethodKind, MaybeSchema, MaybeSchema>): Method {
  const { since, kind, args, result } = options;
  return Object.freeze({ since, kind, args, result });
}

/** Names that a typed client has for itself, or that would make it look like a promise. */
const RESERVED: ReadonlySet<string> = new Set([
  'prepare',
  'canSend',
  'then',
  'constructor',
  'prototype',
  '__proto__',
  'target',
  'exposed',
]);

const KINDS: ReadonlySet<string> = new Set<MethodKind>(['call', 'cast']);

/**
 * An interface, declared once for both sides: see {@link implementContract} and {@link contractClient}.
 *
 * @example
 * const compute = defineContract({
 *   version: '1.1',
 *   methods: {
 *     get: method({ since: '1.0', kind: 'call', args: z.object({ id: z.string() }), result: Instance }),
 *     reboot: method({ since: '1.1', kind: 'cast', args: z.object({ id: z.string() }) }),
 *   },
 * });
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) naming the method, for a version that cannot be read, a method newer
 * than the contract, a name that is taken or private, an unknown kind, a cast with a result, or what is no schema
 */
export function defineContract<const All extends Methods>(options: {
  readonly namespace?: string | undefined;
  readonly version: string;
  readonly methods: All;
}): Contract<All> {
  checkVersion(options.version);
  const methods = Object.entries<Method>(options.methods);
  if (methods.length === 0) throw new ConfigurationError('A contract needs at least one method');
  for (const [name, one] of methods) checkMethod(name, one, options.version);
  return Object.freeze({
    namespace: options.namespace,
    version: options.version,
    methods: Object.freeze({ ...options.methods }),
  });
}

function checkMethod(name: string, one: Method, version: string): void {
  if (RESERVED.has(name) || name.startsWith('_')) {
    throw new ConfigurationError(
      `The method "${name}" of a contract needs another name: this one is reserved or private`,
    );
  }
  if (!KINDS.has(one.kind)) {
    throw new ConfigurationError(
      `The method "${name}" has the kind ${one.kind}; it must be "call" or "cast"`,
    );
  }
  checkSince(name, one.since, version);
  checkSchema(name, 'args', one.args);
  checkSchema(name, 'result', one.result);
  if (one.kind === 'cast' && one.result !== undefined) {
    throw new ConfigurationError(
      `The method "${name}" is a cast: nobody gets its result, so it can have no result schema`,
    );
  }
}

function checkSince(name: string, since: string, version: string): void {
  try {
    checkVersion(since);
  } catch (cause) {
    throw new ConfigurationError(`The method "${name}" needs a version in "since"`, { cause });
  }
  if (isCompatible(version, since)) return;
  throw new ConfigurationError(
    `The method "${name}" is there since ${since}, but the contract has version ${version}: it needs the same major ` +
      'and at least that minor version',
  );
}

function checkSchema(name: string, member: 'args' | 'result', schema: unknown): void {
  if (schema === undefined) return;
  const isHolder = (typeof schema === 'object' || typeof schema === 'function') && schema !== null;
  const standard = isHolder ? (schema as Partial<StandardSchemaV1>)['~standard'] : undefined; // may be anything
  if (typeof standard?.validate === 'function') return;
  throw new ConfigurationError(
    `The "${member}" of the method "${name}" must be a Standard Schema, such as that of zod`,
  );
}
