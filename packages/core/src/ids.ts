import { randomBytes } from 'node:crypto';

/** The last two digits of an id count by this table; those before them are joined once in 256 ids. */
const PAIRS: readonly string[] = Array.from({ length: 256 }, (_, value) =>
  value.toString(16).padStart(2, '0'),
);

/** Sixteen random digits that no other process has, then sixteen that count: unique, and cheaper than a UUID a message. */
const processPart = randomBytes(8).toString('hex');
let turns = 0;
let prefix = nextPrefix();
let low = 0;

function nextPrefix(): string {
  turns += 1;
  return processPart + turns.toString(16).padStart(14, '0');
}

/** A fresh id: 32 hexadecimal digits, as oslo.messaging's `_unique_id` and `_msg_id` have. */
export function uniqueId(): string {
  if (low === PAIRS.length) {
    low = 0;
    prefix = nextPrefix();
  }
  const id = prefix + (PAIRS[low] ?? '');
  low += 1;
  return id;
}

/** An id that cannot be guessed, for addresses: 32 random hexadecimal digits. */
export function secretId(): string {
  return randomBytes(16).toString('hex');
}
