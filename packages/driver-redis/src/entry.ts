import { bytesBody, type MessageBody, SerializationError, type WireMessage } from '@ebbgate/core';
import type { StoreClock } from './store-clock.js';

/** An entry of a stream, off the wire: its id and its fields, names and values in turn. */
export interface Entry {
  readonly id: string;
  /** Empty: it was deleted while somebody held it. */
  readonly fields: readonly Buffer[];
}

/** What an entry says. */
export interface ReadEntry {
  readonly message: WireMessage;
  /** Somebody had it before, and it went back. */
  readonly again: boolean;
}

const NO_BODY = 'It has no body';

/** Throws when it is read, as a body does that is no JSON: so all malformed messages are refused, counted and told alike. */
const UNREADABLE: MessageBody = Object.freeze({
  local: undefined,
  size: 0,
  encode(): never {
    throw new SerializationError(NO_BODY);
  },
  fork: () => UNREADABLE,
});

/** Reads the fields that we know, of whatever order; others are for others. */
export function readEntry({ fields }: Entry, clock: StoreClock): ReadEntry {
  const body = field(fields, 'body');
  const deadlineText = field(fields, 'deadline')?.toString('latin1');
  const storeMs = deadlineText === undefined ? NaN : Number(deadlineText);
  const message = {
    id: undefined,
    body: body ? bytesBody(body) : UNREADABLE,
    deadline: Number.isFinite(storeMs) ? clock.fromStore(storeMs) : undefined,
    expirationMs: undefined,
  };
  return { message, again: field(fields, 'again') !== undefined };
}

/** Written by a listener itself to end its own read. */
export function isWakeUp({ fields }: Entry): boolean {
  return field(fields, 'wake') !== undefined;
}

function field(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const found = fields[at];
    if (found?.length === name.length && found.toString('latin1') === name) return fields[at + 1];
  }
  return undefined;
}

/** The reply to XREAD and XREADGROUP: the entries of each stream that had some, by its key. */
export function readStreams(reply: unknown): readonly (readonly [key: string, entries: readonly Entry[]])[] {
  if (!Array.isArray(reply)) return []; // null: nothing came in time
  return (reply as readonly [Buffer, readonly [Buffer, Buffer[] | null][]][]).map(([key, entries]) => [
    key.toString(),
    entries.map(([id, fields]) => ({ id: id.toString('latin1'), fields: fields ?? [] })),
  ]);
}
