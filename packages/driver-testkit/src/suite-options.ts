import {
  ConfigurationError,
  createTransport,
  type DriverFactory,
  type DriverFeatures,
  type MaybePromise,
  type Transport,
  type TransportOptions,
} from '@ebbgate/core';
import type { BrokerFaults } from './faults.js';

/** `describe` of mocha, node:test, vitest, jest and their like. */
export type Describe = (title: string, body: () => void) => unknown;

/** `it` of the same. */
export interface It {
  /** Declares a test, which fails when `run` rejects. */
  (title: string, run: () => Promise<void>): unknown;
  /** Prints a test that is not run. */
  skip(title: string, run: () => Promise<void>): unknown;
}

/** What the suite needs, whatever the driver. */
export interface DriverSuiteBase {
  /** The runner's `describe`. */
  readonly describe: Describe;
  /** The runner's `it`. */
  readonly it: It;
  /**
   * The manifest of the driver. Needed when no transport can be made before the tests run; a test compares it with the
   * driver's own.
   */
  readonly features?: DriverFeatures;
  /**
   * Most milliseconds that one test may wait in all, and again for its end; default 4000, at least 100. The runner's own
   * limit must be more than twice as long.
   */
  readonly waitMs?: number;
  /**
   * Runs every test so often at the same time; those that use faults, which strike everything, one after another.
   * Default 1. By custom `Number(process.env.STRESS ?? 1)`.
   */
  readonly stress?: number;
  /**
   * The links to the broker fail at random while the tests run, by the author's doing. The suite then does what users do:
   * it sends again what the broker did not take (`ERR_DELIVERY`), and takes a message that comes again for the same one,
   * if the contract lets it come again. Nothing else is let pass. Default false. The runner's limit must then be more than
   * six times `waitMs`.
   */
  readonly unsteady?: boolean;
}

/** Where transports come from: a URL and a driver, or a function for what needs more. */
export type TransportSource =
  | { readonly url: string; readonly drivers: readonly DriverFactory[]; readonly createTransport?: undefined }
  | {
      /**
       * Makes a transport with the options given. All that it makes MUST meet at one broker. Not connected; the suite
       * closes it.
       */
      readonly createTransport: (options: TransportOptions) => MaybePromise<Transport>;
      readonly url?: undefined;
      readonly drivers?: undefined;
    };

/** How the broker is disturbed, or why it cannot be. */
export type FaultSource =
  | { readonly faults: BrokerFaults; readonly noFaultsBecause?: undefined }
  | {
      readonly faults: 'none';
      /** Printed with each test that is skipped for it. */
      readonly noFaultsBecause: string;
    };

/** Everything that {@link driverSuite} takes. */
export type DriverSuiteOptions = DriverSuiteBase & TransportSource & FaultSource;

/** The options, complete and checked. */
export interface Suite {
  readonly describe: Describe;
  readonly it: It;
  readonly features: DriverFeatures;
  readonly waitMs: number;
  readonly stress: number;
  readonly unsteady: boolean;
  readonly faults: BrokerFaults | undefined;
  readonly noFaultsBecause: string;
  readonly createTransport: (options: TransportOptions) => MaybePromise<Transport>;
}

const FEATURES = [
  'undeliverable',
  'expiry',
  'release',
  'redelivered',
  'fanout',
  'durable',
  'notifications',
  'crossProcess',
  'ordered',
  'isolatedNames',
] as const;

/** Checks the options. @throws ConfigurationError (`ERR_CONFIGURATION`) naming the option and what would be right. */
export function completeOptions(options: DriverSuiteOptions): Suite {
  if (typeof options.describe !== 'function')
    throw new ConfigurationError('describe must be a function (title, body)');
  if (typeof options.it !== 'function' || typeof options.it.skip !== 'function') {
    throw new ConfigurationError('it must be a function (title, run) with a function skip of the same form');
  }
  const make = maker(options);
  return Object.freeze({
    describe: options.describe,
    it: options.it,
    features: checkFeatures(options.features ?? featuresOf(make)),
    waitMs: number('waitMs', options.waitMs ?? 4000, 100),
    stress: number('stress', options.stress ?? 1, 1),
    unsteady: flag('unsteady', options.unsteady ?? false),
    createTransport: make,
    ...checkFaults(options),
  });
}

function maker(options: DriverSuiteOptions): Suite['createTransport'] {
  if (typeof options.createTransport === 'function') return options.createTransport;
  const { url, drivers } = options;
  if (typeof url === 'string' && Array.isArray(drivers))
    return (more) => createTransport(url, { drivers, ...more });
  throw new ConfigurationError('Either url and drivers, or a function createTransport, must be given');
}

function featuresOf(make: Suite['createTransport']): DriverFeatures {
  const transport = make({});
  if (transport instanceof Promise) {
    transport.then((late) => late.close()).catch(() => undefined);
    throw new ConfigurationError('features must be given where createTransport returns a promise');
  }
  void transport.close(); // it was never connected
  return transport.features;
}

function checkFeatures(features: DriverFeatures): DriverFeatures {
  const unstated = FEATURES.find((name) => typeof features[name] !== 'boolean');
  if (unstated !== undefined)
    throw new ConfigurationError(`The driver must state the feature ${unstated} as true or false`);
  if (typeof features.maxMessageBytes === 'number' && features.maxMessageBytes >= 1024) return features;
  throw new ConfigurationError('The feature maxMessageBytes must be a number of at least 1024, or Infinity');
}

function checkFaults(options: DriverSuiteOptions): Pick<Suite, 'faults' | 'noFaultsBecause'> {
  const { faults, noFaultsBecause } = options;
  if (faults === 'none') {
    if (typeof noFaultsBecause === 'string' && noFaultsBecause.trim() !== '')
      return { faults: undefined, noFaultsBecause };
    throw new ConfigurationError("faults: 'none' needs a reason, in noFaultsBecause");
  }
  const given = faults as Partial<BrokerFaults> | undefined; // options come from JavaScript too
  if (typeof given?.cut !== 'function' || typeof given.restore !== 'function') {
    throw new ConfigurationError(
      "faults must have functions cut and restore, or be 'none' with a reason in noFaultsBecause",
    );
  }
  if ((given.stall === undefined) !== (given.resume === undefined)) {
    throw new ConfigurationError('faults must have both stall and resume, or neither');
  }
  return { faults, noFaultsBecause: '' };
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ConfigurationError(`${name} must be true or false, not ${String(value)}`);
}

function number(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ConfigurationError(
    `${name} must be a whole number of at least ${String(min)}, not ${String(value)}`,
  );
}
