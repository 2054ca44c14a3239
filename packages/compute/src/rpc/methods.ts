import type { Kind, KindType } from './kinds.js';
import { NAMED_METHODS } from './named-methods.js';
import { OTHER_METHODS } from './other-methods.js';

/** How a method is sent: `long-call` is a call with the long time-out under the call monitor. */
export type MethodKind = 'call' | 'cast' | 'long-call';

/** What is sent in place of the newest form under a lower version cap. */
export interface OlderForm {
  /** For caps below this version. */
  readonly below: string;
  /** The version that the message then carries. */
  readonly version: string;
  /** Arguments that it then lacks. */
  readonly drop: readonly string[];
  /** It cannot be sent when one of them is set (neither null nor false), as it would then ask for something else. */
  readonly refuse?: boolean;
}

/** One row of the table. */
export interface MethodRow {
  /** Version of the interface in which the method appeared. */
  readonly since: string;
  /** Version that its messages carry: that of the present argument list. */
  readonly version: string;
  /** Whether, and how long, an answer is waited for. */
  readonly kind: MethodKind;
  /** `main`: new requests, refused by a host that drains. `ops`: follow-ups, served until its work is done. */
  readonly topic: 'main' | 'ops';
  /** Who sends it to whom. */
  readonly route: string;
  /** It begins an operation. On ops such a message is handed on to the next start of a host that drains. */
  readonly starts: boolean;
  /** What travels, by name and kind. */
  readonly args: Readonly<Record<string, Kind>>;
  /** Kind of the result. */
  readonly returns: Kind;
  /** Forms for older receivers, the newest first. */
  readonly older?: readonly OlderForm[];
}

/**
 * The one table of compute methods: what they are called, what they take, and on which topic they go (GS-41). Clients and
 * endpoints are both made from it.
 */
export const COMPUTE_METHODS: typeof NAMED_METHODS & typeof OTHER_METHODS = {
  ...NAMED_METHODS,
  ...OTHER_METHODS,
};

/** The type of {@link COMPUTE_METHODS}. */
export type ComputeMethods = typeof COMPUTE_METHODS;

/** A table of methods; each row of {@link COMPUTE_METHODS} is checked against it by the compiler. */
export type MethodTable = Readonly<Record<string, MethodRow>>;

/** The arguments of one row, by name. */
export type ArgsOf<Row extends MethodRow> = {
  readonly [Name in keyof Row['args']]: KindType<Row['args'][Name]>;
};

/** The result of one row. */
export type ResultOf<Row extends MethodRow> = KindType<Row['returns']>;

/** Names of the rows that are answered, and of those that are not. */
export type CallMethod<Table extends MethodTable> = {
  [Name in keyof Table & string]: Table[Name]['kind'] extends 'cast' ? never : Name;
}[keyof Table & string];
/** Methods of a table that are not answered. */
export type CastMethod<Table extends MethodTable> = Exclude<keyof Table & string, CallMethod<Table>>;

/** A table by name, for names that come from the wire or from a user. */
export function byName(table: MethodTable): ReadonlyMap<string, MethodRow> {
  return new Map(Object.entries(table));
}

export const computeMethods: ReadonlyMap<string, MethodRow> = byName(COMPUTE_METHODS);
