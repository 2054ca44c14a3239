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

/** Those whose first word says nothing. What NOPERM is within a script: a command, or a key, that its user may not touch. */
const WORDINGS: readonly (readonly [RegExp, Refusal])[] = [
  [/^ERR (?:invalid password|AUTH|Client sent AUTH)/i, 'denied'],
  [/The user executing the script can't/, 'denied'],
  [/^ERR unknown command .?evalsha\b/i, 'unknown-script'], // it was renamed; EVAL may be there
  [/^ERR unknown (?:redis )?command\b/i, 'denied'], // likewise, or it is newer than the store
  [/^ERR max number of clients/, 'lost'],
];

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** How the store has refused; undefined when the error is none of its own, but tells that it could not be asked. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isReply(error)) return undefined;
  const code = /^-?([A-Z]+)\b/.exec(error.message)?.[1] ?? '';
  const known = REFUSALS.get(code);
  if (known) return known;
  // An error within a script is told in its words, behind ours: `ERR Error running script … @user_script:3: OOM …`.
  for (const [word, refusal] of REFUSALS) if (new RegExp(`\\b${word} `).test(error.message)) return refusal;
  return WORDINGS.find(([words]) => words.test(error.message))?.[1] ?? 'other';
}

/** The connection is gone, or as good as gone: what was under way may have been done or not. */
export class ConnectionLostError extends Error {
  override readonly name: string = 'ConnectionLostError';
}

/** Nobody has taken what was to be sent: nothing of it was done. */
export class NotDoneError extends ConnectionLostError {
  override readonly name: string = 'NotDoneError';
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
