import {
  AuthenticationError,
  BackpressureError,
  MessageDeliveryError,
  MessagingError,
  type Outcome,
  redactedCause,
} from '@ebbgate/core';

/** What an answer of the store means to us; `lost`: it is as if the connection were gone. */
export type Refusal = 'denied' | 'full' | 'lost' | 'unknown-script' | 'other';

/** The first word of an error is its code. */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  ['NOPERM', 'denied'],
  ['NOAUTH', 'denied'],
  ['WRONGPASS', 'denied'],
  ['OOM', 'full'],
  ['READONLY', 'lost'],
  ['LOADING', 'lost'],
  ['MASTERDOWN', 'lost'],
  ['CLUSTERDOWN', 'lost'],
  ['NOSCRIPT', 'unknown-script'],
]);

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** How the store has refused; undefined when the error is none of its own, but tells that it could not be asked. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isReply(error)) return undefined;
  const code = /^-?([A-Z]+)\b/.exec(error.message)?.[1] ?? '';
  const known = REFUSALS.get(code);
  if (known) return known;
  // An error within a script is told in its words, behind ours: `ERR Error running script … @user_script:3: OOM …`.
  for (const [word, refusal] of REFUSALS) if (new RegExp(`\\b${word} `).test(error.message)) return refusal;
  if (/^ERR (?:invalid password|AUTH|Client sent AUTH)/i.test(error.message)) return 'denied';
  // What NOPERM is within a script: a command, or a key, that its user may not touch.
  if (error.message.includes("The user executing the script can't")) return 'denied';
  return error.message.startsWith('ERR max number of clients') ? 'lost' : 'other';
}

/** The connection is gone, or as good as gone: what was under way may have been done or not. */
export class ConnectionLostError extends Error {
  override readonly name: string = 'ConnectionLostError';
}

/** The connection was gone before: nothing was written of what was to be sent. */
export class NotWrittenError extends ConnectionLostError {
  override readonly name: string = 'NotWrittenError';
}

/** The error of the family for one of the store's or of the client's, without anything secret. */
export function asStoreError(error: unknown, doing: string, outcome: Outcome = 'not-sent'): Error {
  if (error instanceof MessagingError) return error;
  const cause = redactedCause(error);
  const text = `${doing}: ${cause.message}`;
  const refusal = refusalOf(error);
  if (refusal === 'denied') return new AuthenticationError(text, { cause });
  if (refusal === 'full') return new BackpressureError(text, { cause });
  return new MessageDeliveryError(text, { cause, outcome: refusal === undefined ? outcome : 'not-sent' });
}
