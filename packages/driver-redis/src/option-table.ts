import { ConfigurationError } from '@ebbgate/core';
import type { RedisOptions } from './redis-options.js';

/** How one option is read. Undefined from either reader means that the value is not one of the kind. */
interface OptionKind<Value> {
  /** What would be right, for errors: `a whole number from 1 to 10`. */
  readonly wanted: string;
  readonly fallback: Value;
  /** From the query of a URL. */
  fromText(text: string): Value | undefined;
  /** From the constructor: of that very type. */
  fromValue(value: unknown): Value | undefined;
}

function numbers(
  fallback: number,
  [min, max]: readonly [number, number],
  isWhole: boolean,
): OptionKind<number> {
  const fits = (value: unknown): number | undefined =>
    typeof value === 'number' && value >= min && value <= max && (!isWhole || Number.isSafeInteger(value))
      ? value
      : undefined;
  return {
    wanted: `a ${isWhole ? 'whole ' : ''}number from ${String(min)} to ${String(max)}`,
    fallback,
    fromText: (text) => (/^\d+(?:\.\d+)?$/.test(text) ? fits(Number(text)) : undefined),
    fromValue: fits,
  };
}

const whole = (fallback: number, range: readonly [number, number]): OptionKind<number> =>
  numbers(fallback, range, true);
const decimal = (fallback: number, range: readonly [number, number]): OptionKind<number> =>
  numbers(fallback, range, false);

function flag(fallback: boolean): OptionKind<boolean> {
  return {
    wanted: 'true or false',
    fallback,
    fromText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    fromValue: (value) => (typeof value === 'boolean' ? value : undefined),
  };
}

function choice<Word extends string>(fallback: Word, other: Word): OptionKind<Word> {
  const find = (value: unknown): Word | undefined => [fallback, other].find((word) => word === value);
  return { wanted: `${fallback} or ${other}`, fallback, fromText: find, fromValue: find };
}

function text(fallback: string, wanted: string, pattern: RegExp): OptionKind<string> {
  const check = (value: unknown): string | undefined =>
    typeof value === 'string' && pattern.test(value) ? value : undefined;
  return { wanted, fallback, fromText: check, fromValue: check };
}

const file = (): OptionKind<string> => text('', 'the path of a file', /./);
const DAY_S = 86_400;

const OPTIONS = {
  key_prefix: text('ebbgate', 'up to 64 letters, digits and characters of . _ : -', /^[\w.:-]{1,64}$/),
  lease: decimal(30, [0.2, 3600]),
  private_ttl: decimal(300, [1, DAY_S]),
  max_length: whole(100_000, [0, 1_000_000_000]),
  max_bytes: whole(268_435_456, [0, Number.MAX_SAFE_INTEGER]),
  max_message_bytes: whole(134_217_728, [1, 536_870_912]),
  acceptance: choice('written', 'confirmed'),
  command_timeout: decimal(5, [0.05, 600]),
  connect_timeout: decimal(5, [0.05, 600]),
  heartbeat: decimal(10, [0.05, 600]),
  retry_interval: decimal(0.1, [0.001, DAY_S]),
  retry_interval_max: decimal(5, [0.001, DAY_S]),
  missing_reply_retry: decimal(60, [0, DAY_S]),
  wait_replicas: whole(0, [0, 16]),
  host_order: choice('shuffled', 'given'),
  sentinel_auth: flag(false),
  ssl_ca_file: file(),
  ssl_cert_file: file(),
  ssl_key_file: file(),
  ssl_enforce_hostname_verification: flag(true),
} satisfies { readonly [Name in keyof RedisOptions]-?: OptionKind<unknown> };

/** All options, complete. Files that were not given are empty texts. */
export type OptionValues = Readonly<Required<RedisOptions>>;

/** What was read, and which of it was said by somebody rather than taken from the defaults. */
export interface ReadOptions {
  readonly values: OptionValues;
  readonly given: ReadonlySet<keyof RedisOptions>;
}

const isKnown = (name: string): name is keyof RedisOptions => Object.hasOwn(OPTIONS, name);

/**
 * Reads the options of the constructor and those of the URL, which win.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the option, its value and what would be right; for an unknown one
 *   with those that there are.
 */
export function readOptions(options: RedisOptions, query: ReadonlyMap<string, string>): ReadOptions {
  const given = new Map([
    ...checked(Object.entries(options), (kind, value) => kind.fromValue(value)),
    // Only texts are in a query.
    ...checked(query, (kind, value) => kind.fromText(value as string)),
  ]);
  const values = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, kind]) => [
      name,
      given.get(name as keyof RedisOptions) ?? kind.fallback,
    ]),
  );
  // Each value has been read by the kind of its name, which the table ties to the interface.
  return { values: Object.freeze(values) as unknown as OptionValues, given: new Set(given.keys()) };
}

function checked(
  entries: Iterable<readonly [string, unknown]>,
  read: (kind: OptionKind<unknown>, value: unknown) => unknown,
): Map<keyof RedisOptions, unknown> {
  const found = new Map<keyof RedisOptions, unknown>();
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    if (!isKnown(name))
      throw new ConfigurationError(
        `The Redis driver has no option ${show(name)}; there are ${Object.keys(OPTIONS).toSorted().join(', ')}`,
      );
    const kind = OPTIONS[name];
    const result = read(kind, value);
    if (result === undefined)
      throw new ConfigurationError(`${name} is ${show(value)}; it must be ${kind.wanted}`);
    found.set(name, result);
  }
  return found;
}

/** Longest piece of a wrong name or value that is repeated in an error. */
const SHOWN = 60;

/** Only names, and values of known options, which are no secrets. */
function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `of type ${typeof value}`;
}
