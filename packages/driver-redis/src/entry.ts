import { bytesBody, type MessageBody, SerializationError, type WireMessage } from '@ebbgate/core';
import type { StoreClock } from './store-clock.js';

/** What an entry says. */
export interface ReadEntry {
  readonly message: WireMessage;
  /** Somebody had it before, and it went back. */
  readonly again: boolean;
}

const NINE = 0x39;
const ZERO = 0x30;
const AGAIN = 0x21; // !
const END_OF_LINE = 0x0a;
const NO_HEAD = 'It does not begin with a line of its deadline';

/** Throws when it is read, as a body does that is no JSON: so all malformed messages are refused, counted and told alike. */
const UNREADABLE: MessageBody = Object.freeze({
  local: undefined,
  size: 0,
  encode(): never {
    throw new SerializationError(NO_HEAD);
  },
  fork: () => UNREADABLE,
});

/**
 * An entry is a line and the body: the deadline in digits, or none, and a `!` when somebody has given it back.
 * @param deadline - by the clock of the store; empty: none
 */
export function entryOf(body: Uint8Array, deadline: string): Buffer {
  const entry = Buffer.allocUnsafe(deadline.length + 1 + body.byteLength);
  entry.write(deadline, 'latin1');
  entry[deadline.length] = END_OF_LINE;
  entry.set(body, deadline.length + 1);
  return entry;
}

export function readEntry(entry: Buffer, clock: StoreClock): ReadEntry {
  let at = 0;
  for (let sign = entry[0]; sign !== undefined && sign >= ZERO && sign <= NINE; sign = entry[at]) at += 1;
  const storeMs = at === 0 ? NaN : Number(entry.toString('latin1', 0, at));
  const again = entry[at] === AGAIN;
  if (again) at += 1;
  const message = {
    id: undefined,
    body: entry[at] === END_OF_LINE ? bytesBody(entry.subarray(at + 1)) : UNREADABLE,
    deadline: Number.isFinite(storeMs) ? clock.fromStore(storeMs) : undefined,
    expirationMs: undefined,
  };
  return { message, again };
}
