import { ConfigurationError } from './errors.js';

/** How large a value may be to be sent. What is over a limit is refused with a SerializationError. */
export interface PlainLimits {
  /** Levels of arrays and objects, 1 … 1000. Default 256. */
  readonly maxDepth?: number;
  /** Array elements and object members in all, the ones of shared parts counted each time. Default 1,000,000. */
  readonly maxItems?: number;
}

/** How deep a text may be to be read. */
export interface ReadLimits {
  /** Levels of arrays and objects, 1 … 1000. Default 272: what may be sent, and the message around it. */
  readonly maxDepth?: number;
}

/** Beyond this the recursion of reader, writer and copy could come near to the end of the stack. */
const DEEPEST = 1000;

/** The default limits on what is sent. */
export const plainLimits: Required<PlainLimits> = Object.freeze({ maxDepth: 256, maxItems: 1_000_000 });

/** The default limit on what is read. It is wider, so that whatever could be sent can be read in its envelope. */
export const readLimits: Required<ReadLimits> = Object.freeze({ maxDepth: plainLimits.maxDepth + 16 });

/** The digits of the largest integer: what Python reads and writes without being asked to. */
export const maxIntegerDigits: number = 4300;

/** Fills in what is absent. Throws ConfigurationError (`ERR_CONFIGURATION`) for a limit out of range. */
export function completeLimits(limits: PlainLimits): Required<PlainLimits> {
  if (limits === plainLimits) return plainLimits;
  return {
    maxDepth: whole('maxDepth', limits.maxDepth ?? plainLimits.maxDepth, DEEPEST),
    maxItems: whole('maxItems', limits.maxItems ?? plainLimits.maxItems, Number.MAX_SAFE_INTEGER),
  };
}

/** Fills in what is absent. Throws ConfigurationError (`ERR_CONFIGURATION`) for a limit out of range. */
export function completeReadLimits(limits: ReadLimits): Required<ReadLimits> {
  if (limits === readLimits) return readLimits;
  return { maxDepth: whole('maxDepth', limits.maxDepth ?? readLimits.maxDepth, DEEPEST) };
}

function whole(name: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw new ConfigurationError(`${name} is ${String(value)}; it must be a whole number from 1 to ${most}`);
}
