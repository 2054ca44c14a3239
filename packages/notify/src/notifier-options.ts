import {
  checkLogger,
  checkMethods,
  checkMs,
  checkWhole,
  ConfigurationError,
  refuseUnknown,
  type Serializer,
  serializerMethods,
  type Transport,
} from '@ebbgate/core';
import { allowedMembers } from './context-allow-list.js';
import type { NotificationDriver, NotificationDriverName } from './drivers/notification-driver.js';

/** What can be replaced by `prepare()`. An absent one keeps what was, an explicit null resets it. */
export interface NotifierPrepareOptions {
  /** Who sends, like `compute.host1`; default: nobody. */
  readonly publisherId?: string | null;
  /** Most further attempts to send after one that failed; default: as many as the time allows. */
  readonly retry?: number | null;
  /** Milliseconds until a send fails; default: the transport's `sendTimeoutMs`. */
  readonly timeoutMs?: number | null;
  /**
   * Methods return at once and never reject: what was not delivered is counted and told by the event `undelivered`.
   * Default false.
   */
  readonly fireAndForget?: boolean | null;
}

/** How a notifier is made. All may be left out. */
export interface NotifierOptions extends NotifierPrepareOptions {
  /** Each notification goes to each of them, to the queue `<topic>.<priority>`; default `notifications`. */
  readonly topics?: readonly string[];
  /** Name of the exchange; default: the transport's control exchange. */
  readonly exchange?: string;
  /** Names, or drivers of the application's own; default `messagingv2`. */
  readonly drivers?: readonly (NotificationDriverName | NotificationDriver)[];
  /** Path of the YAML file of the driver `routing`. */
  readonly routingFile?: string;
  /** For contexts and payloads; default: plain values as they are. */
  readonly serializer?: Serializer;
  /** Members of the context that are sent besides oslo.messaging's. None may speak of a secret. */
  readonly contextMembers?: readonly string[];
  /** Most notifications that wait to be delivered in fire-and-forget mode; default 10000. More are dropped and counted. */
  readonly maxPending?: number;
}

/** What one notifier sends with. */
export interface NotifierSettings {
  readonly publisherId: string | null;
  readonly retry: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly fireAndForget: boolean;
}

const PREPARE: Readonly<Record<keyof NotifierPrepareOptions, true>> = {
  publisherId: true,
  retry: true,
  timeoutMs: true,
  fireAndForget: true,
};
const OPTIONS: Readonly<Record<keyof NotifierOptions, true>> = {
  ...PREPARE,
  topics: true,
  exchange: true,
  drivers: true,
  routingFile: true,
  serializer: true,
  contextMembers: true,
  maxPending: true,
};
const BARE: NotifierSettings = {
  publisherId: null,
  retry: undefined,
  timeoutMs: undefined,
  fireAndForget: false,
};

/** Checked and complete. */
export interface CheckedOptions {
  readonly settings: NotifierSettings;
  readonly topics: readonly string[];
  readonly exchange: string;
  readonly drivers: readonly (NotificationDriverName | NotificationDriver)[];
  readonly routingFile: string | undefined;
  readonly serializer: Serializer | undefined;
  readonly allowed: ReadonlySet<string>;
  readonly maxPending: number;
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) with the name, the value and what would be right */
export function checkNotifierOptions(transport: Transport, options: NotifierOptions): CheckedOptions {
  refuseUnknown(options, Object.keys(OPTIONS));
  const { topics = ['notifications'], drivers = ['messagingv2'], serializer, routingFile } = options;
  const { publisherId, retry, timeoutMs, fireAndForget } = options;
  checkMethods('serializer', serializer, serializerMethods);
  checkLogger(transport.logger);
  if (!Array.isArray(drivers)) throw new ConfigurationError('drivers must be an array of names and drivers');
  return Object.freeze({
    settings: overrideSettings(BARE, { publisherId, retry, timeoutMs, fireAndForget }),
    topics: names('topics', topics),
    exchange: names('exchange', [options.exchange ?? transport.controlExchange])[0] ?? '',
    drivers,
    routingFile,
    serializer,
    allowed: allowedMembers(options.contextMembers),
    maxPending: checkWhole('maxPending', options.maxPending ?? 10_000, 0),
  });
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`), as above */
export function overrideSettings(
  settings: NotifierSettings,
  overrides: NotifierPrepareOptions,
): NotifierSettings {
  refuseUnknown(overrides, Object.keys(PREPARE));
  const { publisherId, retry, timeoutMs, fireAndForget } = overrides;
  if (publisherId !== undefined && publisherId !== null && typeof publisherId !== 'string')
    throw new ConfigurationError('publisherId must be text');
  return Object.freeze({
    publisherId: publisherId === undefined ? settings.publisherId : publisherId,
    retry: pick(retry, settings.retry, (value) => checkWhole('retry', value, 0)),
    timeoutMs: pick(timeoutMs, settings.timeoutMs, (value) => checkMs('timeoutMs', value, 1)),
    fireAndForget: fireAndForget === undefined ? settings.fireAndForget : (fireAndForget ?? false),
  });
}

function pick<T>(override: T | null | undefined, own: T | undefined, check: (value: T) => T): T | undefined {
  if (override === undefined) return own;
  return override === null ? undefined : check(override);
}

function names(option: string, values: readonly unknown[]): readonly string[] {
  const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';
  if (Array.isArray(values) && values.length > 0 && values.every(isName)) return values;
  throw new ConfigurationError(`${option} must be given by name`);
}
