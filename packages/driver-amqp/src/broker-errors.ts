import {
  AuthenticationError,
  ConfigurationError,
  MessageDeliveryError,
  type Outcome,
  redactedCause,
} from '@ebbgate/core';

/** Reply codes of AMQP 0-9-1 (section 1.2 of its reference) that mean something to us. */
const ACCESS_REFUSED = 403;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 406;
const NOT_ALLOWED = 530;

/** The reply code in an error of amqplib: its member `code`, or, in a handshake, only the text. */
export function replyCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = (error as { code?: unknown }).code; // amqplib sets it on close frames
  if (typeof code === 'number') return code;
  const text = /(?:closed|terminated) by server: (\d{3})\b/.exec(error.message)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** The broker knows neither the exchange nor the queue. */
export function isNotFound(error: unknown): boolean {
  return replyCode(error) === NOT_FOUND;
}

/** Credentials, permissions or virtual host refused: trying again soon is of no use. */
export function isRefused(error: unknown): boolean {
  const code = replyCode(error);
  return code === ACCESS_REFUSED || code === NOT_ALLOWED;
}

/** Classes `exchange` and `queue`, method `declare`. */
const DECLARED_CLASSES: ReadonlySet<unknown> = new Set([40, 50]);
const DECLARE = 10;

/** The object that was to be declared exists with other properties. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof Error) || replyCode(error) !== PRECONDITION_FAILED) return false;
  const { classId, methodId } = error as { classId?: unknown; methodId?: unknown }; // amqplib sets them on close frames
  return DECLARED_CLASSES.has(classId) && methodId === DECLARE;
}

/** How RabbitMQ says it; read for display only. */
const INEQUIVALENT =
  /inequivalent arg '([^']*)' for (\w+) '([^']*)' in vhost .*?: received (.+?) but current is (.+?)"?$/;

function conflictText(text: string): string {
  const [, property, kind, name, wanted, present] = INEQUIVALENT.exec(text) ?? [];
  if (name === undefined) return `${text} (the object exists with other properties; nothing was changed)`;
  return (
    `the ${String(kind)} "${name}" exists with another "${String(property)}": wanted ${String(wanted)}, ` +
    `present ${String(present)}; nothing was changed`
  );
}

/** The error of the family for one of amqplib, without anything secret. */
export function asBrokerError(error: unknown, doing: string, outcome: Outcome = 'not-sent'): Error {
  const cause = redactedCause(error);
  const text = `${doing}: ${cause.message}`;
  if (isRefused(error)) return new AuthenticationError(text, { cause });
  if (isConflict(error)) return new ConfigurationError(`${doing}: ${conflictText(cause.message)}`, { cause });
  return new MessageDeliveryError(text, { cause, outcome });
}
