import type { DriverFactory } from './driver.js';
import { ConfigurationError } from './errors.js';
import { checkMethods, checkWhole, refuseUnknown } from './known-options.js';
import { checkLogger, silentLogger, type Logger } from './logger.js';
import { checkMs } from './within.js';

/** How a transport is made. All may be left out. */
export interface TransportOptions {
  /** Drivers besides the in-memory one, which is always there. */
  readonly drivers?: readonly DriverFactory[];
  /** Default: none. */
  readonly logger?: Logger;
  /** Exchange of targets that name none (oslo's `control_exchange`); default `openstack`. */
  readonly controlExchange?: string;
  /**
   * Default 60000. Deadline in milliseconds of sends that have none of their own, and of everything else that is asked
   * of the broker: to connect, to listen, to send no more, to close.
   */
  readonly sendTimeoutMs?: number;
  /** Most messages that wait to be taken by the broker; default 100000. Beyond it a send fails at once. */
  readonly maxPendingSends?: number;
  /** Most bytes of such messages; default 256 MiB. */
  readonly maxPendingBytes?: number;
}

const NAMES = ['drivers', 'logger', 'controlExchange', 'sendTimeoutMs', 'maxPendingSends', 'maxPendingBytes'];

/**
 * Checked, complete and frozen.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name, the value and what would be right.
 */
export function checkTransportOptions(options: TransportOptions): Required<TransportOptions> {
  refuseUnknown(options, NAMES);
  const { drivers = [], logger = silentLogger } = options;
  checkDrivers(drivers);
  const controlExchange: unknown = options.controlExchange ?? 'openstack'; // what a caller without types gave
  if (typeof controlExchange !== 'string' || controlExchange === '') {
    throw new ConfigurationError(`controlExchange must be a name, not ${JSON.stringify(controlExchange)}`);
  }
  return Object.freeze({
    drivers,
    logger: checkLogger(logger),
    controlExchange,
    sendTimeoutMs: checkMs('sendTimeoutMs', options.sendTimeoutMs ?? 60_000, 1),
    maxPendingSends: checkWhole('maxPendingSends', options.maxPendingSends ?? 100_000, 0),
    maxPendingBytes: checkWhole('maxPendingBytes', options.maxPendingBytes ?? 256 * 1024 ** 2, 0),
  });
}

function checkDrivers(drivers: unknown): void {
  if (!Array.isArray(drivers)) throw new ConfigurationError('drivers must be an array of drivers');
  for (const driver of drivers) checkMethods('each of drivers', driver ?? {}, ['create']);
}
