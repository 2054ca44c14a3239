import { ConfigurationError, type Target, type TargetOptions } from '@ebbgate/core';
import { checkVersion } from './version.js';

/** What is asked of the transport for a send (`wire.md` 4.7). */
export interface RpcTransportOptions {
  /**
   * A destination that was never declared is an error (MessageUndeliverableError), not a loss. Default true, but for
   * fanout; false is oslo.messaging's own default.
   */
  readonly atLeastOnce?: boolean;
}

/**
 * What `prepare()` can change, each for itself: a parameter that is absent (or undefined) keeps what was, an explicit
 * null resets it to what a client has that was given nothing.
 */
export interface PrepareOptions {
  /** Null: the transport's control exchange. */
  readonly exchange?: string | null;
  /** Null: none, so that nothing can be sent. */
  readonly topic?: string | null;
  /** Null: the interface without a name. */
  readonly namespace?: string | null;
  /** Of the interface. Null: none is sent, which servers read as 1.0. */
  readonly version?: string | null;
  /** Null: any server of the topic. */
  readonly server?: string | null;
  /** To all servers of the topic; casts only. Null: to one. */
  readonly fanout?: boolean | null;
  /** Milliseconds that a call waits for its reply, a cast for the broker. Null: 60000. */
  readonly timeoutMs?: number | null;
  /** The highest version that may be sent. Null: no cap. */
  readonly versionCap?: string | null;
  /** Most further attempts to send after one that failed. Null, or a negative number: as many as the time-out allows. */
  readonly retry?: number | null;
  /** Milliseconds without a sign of life from the server after which a call fails. Null: no monitor. */
  readonly callMonitorTimeoutMs?: number | null;
  /** Null: the defaults. */
  readonly transportOptions?: RpcTransportOptions | null;
}

/** Everything that `prepare()` can change, complete and checked. */
export interface SendSettings {
  readonly target: Target;
  readonly timeoutMs: number | undefined;
  readonly versionCap: string | undefined;
  readonly retry: number | undefined;
  readonly callMonitorTimeoutMs: number | undefined;
  readonly transportOptions: RpcTransportOptions | undefined;
}

/** The parameters that are members of the target. */
export const TARGET_NAMES = ['exchange', 'topic', 'namespace', 'version', 'server', 'fanout'] as const;
const NAMES: ReadonlySet<string> = new Set([
  ...TARGET_NAMES,
  'timeoutMs',
  'versionCap',
  'retry',
  'callMonitorTimeoutMs',
  'transportOptions',
]);

/**
 * `settings` with the overrides of a user; `settings` itself stays as it is (COMP-05).
 * @throws ConfigurationError for an unknown name or a bad value, InvalidTargetError for a bad part of the target.
 */
export function override(settings: SendSettings, overrides: PrepareOptions): SendSettings {
  for (const name of Object.keys(overrides)) {
    if (!NAMES.has(name))
      throw new ConfigurationError(`An RPC client has no "${name}" to set; it has ${[...NAMES].join(', ')}`);
  }
  const given = overrides as Record<string, unknown>; // names checked above
  const target = TARGET_NAMES.some((name) => given[name] !== undefined)
    ? settings.target.with(pick(given))
    : settings.target;
  return {
    target,
    timeoutMs: pickOne(overrides.timeoutMs, settings.timeoutMs, checkTimeout('timeoutMs')),
    versionCap: pickOne(overrides.versionCap, settings.versionCap, checkVersion),
    retry: pickOne(overrides.retry, settings.retry, checkRetry),
    callMonitorTimeoutMs: pickOne(
      overrides.callMonitorTimeoutMs,
      settings.callMonitorTimeoutMs,
      checkTimeout('callMonitorTimeoutMs'),
    ),
    transportOptions: pickOne(overrides.transportOptions, settings.transportOptions, checkTransportOptions),
  };
}

function pick(given: Record<string, unknown>): TargetOptions {
  const chosen: Record<string, unknown> = {};
  for (const name of TARGET_NAMES) if (given[name] !== undefined) chosen[name] = given[name];
  if (typeof chosen['version'] === 'string') checkVersion(chosen['version']);
  return chosen; // Target checks the values
}

function pickOne<T>(
  value: T | null | undefined,
  kept: T | undefined,
  check: (value: T) => T | undefined,
): T | undefined {
  if (value === undefined) return kept;
  return value === null ? undefined : check(value);
}

function checkTimeout(name: string): (value: number) => number {
  return (value) => {
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    throw new ConfigurationError(
      `${name} must be a finite number of milliseconds above 0, not ${String(value)}`,
    );
  };
}

function checkRetry(value: number): number | undefined {
  if (Number.isSafeInteger(value)) return value < 0 ? undefined : value;
  throw new ConfigurationError(`retry must be a whole number, not ${String(value)}`);
}

function checkTransportOptions(value: RpcTransportOptions): RpcTransportOptions {
  if (typeof value !== 'object') throw new ConfigurationError('transportOptions must be an object');
  const unknown = Object.keys(value).find((name) => name !== 'atLeastOnce');
  if (unknown !== undefined)
    throw new ConfigurationError(`transportOptions knows no "${unknown}"; it takes atLeastOnce`);
  if (value.atLeastOnce === undefined || typeof value.atLeastOnce === 'boolean')
    return Object.freeze({ ...value });
  throw new ConfigurationError('transportOptions.atLeastOnce must be true or false');
}
