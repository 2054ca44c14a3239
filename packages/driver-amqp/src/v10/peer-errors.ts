import {
  AuthenticationError,
  BackpressureError,
  ConfigurationError,
  MessageDeliveryError,
  MessagingError,
  type Outcome,
  redactedCause,
} from '@ebbgate/core';

/** What the peer gave as the reason when it ended a link, a session or a connection, or refused a message. */
export class PeerError extends Error {
  override readonly name: string = 'PeerError';
  readonly condition: string;

  constructor(condition: string, description: string | undefined) {
    super(description === undefined || description === '' ? condition : `${condition}: ${description}`);
    this.condition = condition;
  }
}

/** The error of rhea, with the condition that AMQP 1.0 gives it; undefined where there is none. */
export function peerError(error: unknown): Error | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { condition, description } = error as Readonly<Record<string, unknown>>; // both are looked at
  if (typeof condition === 'string')
    return new PeerError(condition, typeof description === 'string' ? description : undefined);
  return error instanceof Error ? error : undefined;
}

const conditionOf = (error: unknown): string | undefined =>
  error instanceof PeerError ? error.condition : undefined;

/** There is no such node. */
export function isNotFound(error: unknown): boolean {
  return conditionOf(error) === 'amqp:not-found';
}

const REFUSED: ReadonlySet<unknown> = new Set(['amqp:unauthorized-access', 'amqp:not-allowed']);

/** Credentials or permissions are refused: trying again soon is of no use. */
export function isRefused(error: unknown): boolean {
  return error instanceof AuthenticationError || REFUSED.has(conditionOf(error));
}

/** The error of the family for one of the peer, without anything secret. */
export function asPeerError(error: unknown, doing: string, outcome: Outcome = 'not-sent'): Error {
  if (error instanceof ConfigurationError) return error; // of a declaration: it says what clashes
  const cause = redactedCause(error);
  const text = `${doing}: ${cause.message}`;
  if (isRefused(error)) return new AuthenticationError(text, { cause });
  if (conditionOf(error) === 'amqp:resource-limit-exceeded') return new BackpressureError(text, { cause });
  if (isNotFound(error))
    return new MessageDeliveryError(`${text} (make that node at the broker, or let it be made on use)`, {
      cause,
    });
  if (error instanceof MessagingError) return error;
  return new MessageDeliveryError(text, { cause, outcome });
}
