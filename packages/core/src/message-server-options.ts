import { ConfigurationError } from './errors.js';
import { checkWhole, refuseUnknown } from './known-options.js';
import { checkMs } from './within.js';

/** How a message server works. All may be left out. */
export interface MessageServerOptions {
  /** Handlers that run at the same time; default 64, at least 1. */
  readonly slots?: number;
  /** Messages fetched beyond what runs; default 16, at least 1. The driver's credit. */
  readonly prefetch?: number;
  /** What `stop()` does with fetched messages that have no slot yet: run them, or give them back (AMQP-39). Default `run`. */
  readonly fetched?: 'run' | 'release';
  /** Ids remembered against duplicates; default 1024, 0 for none. */
  readonly duplicateWindow?: number;
  /** Without a free slot for so long the server asks for no more; default 1000. */
  readonly stallMs?: number;
  /** Longest time that a fetched message waits for a slot before it goes back; default 30000. */
  readonly maxHeldMs?: number;
}

const NAMES = ['slots', 'prefetch', 'fetched', 'duplicateWindow', 'stallMs', 'maxHeldMs'];

/**
 * Checked, complete and frozen.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the name, the value and what would be right.
 */
export function checkServerOptions(options: MessageServerOptions): Required<MessageServerOptions> {
  refuseUnknown(options, NAMES);
  const fetched: unknown = options.fetched ?? 'run'; // what a caller without types gave
  if (fetched !== 'run' && fetched !== 'release') {
    throw new ConfigurationError(`fetched must be 'run' or 'release', not ${JSON.stringify(fetched)}`);
  }
  const stallMs = checkMs('stallMs', options.stallMs ?? 1000, 1);
  const maxHeldMs = checkMs('maxHeldMs', options.maxHeldMs ?? 30_000, 1);
  if (maxHeldMs < stallMs) {
    // What goes back before the server has asked for no more comes again at once.
    throw new ConfigurationError(
      `maxHeldMs (${String(maxHeldMs)}) must not be less than stallMs (${String(stallMs)})`,
    );
  }
  return Object.freeze({
    slots: checkWhole('slots', options.slots ?? 64, 1),
    prefetch: checkWhole('prefetch', options.prefetch ?? 16, 1),
    fetched,
    duplicateWindow: checkWhole('duplicateWindow', options.duplicateWindow ?? 1024, 0),
    stallMs,
    maxHeldMs,
  });
}
