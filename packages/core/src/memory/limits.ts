import { ConfigurationError } from '../errors.js';
import type { TransportUrl } from '../transport-url.js';
import type { MemoryLimits } from './broker.js';

/** Options of a memory URL and their defaults. */
const OPTIONS: ReadonlyMap<string, keyof MemoryLimits> = new Map([
  ['max_queue_length', 'maxQueueLength'],
  ['max_queue_bytes', 'maxQueueBytes'],
  ['max_message_bytes', 'maxMessageBytes'],
]);

/** @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown or bad option. */
export function limitsOf(url: TransportUrl): MemoryLimits {
  const limits = { maxQueueLength: 1_000_000, maxQueueBytes: 1024 ** 3, maxMessageBytes: Infinity };
  for (const [name, text] of url.query) {
    const option = OPTIONS.get(name);
    if (!option) {
      throw new ConfigurationError(
        `The memory driver has no option "${name}"; it has ${[...OPTIONS.keys()].join(', ')}`,
      );
    }
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new ConfigurationError(`${name} must be a whole number of at least 1, not "${text}"`);
    }
    limits[option] = value;
  }
  return limits;
}
