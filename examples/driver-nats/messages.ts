import * as core from '@ebbgate/core';
import { JetStreamApiError } from '@nats-io/jetstream';
import { errors, headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';

/** The header beside the body, as JSON: what that quotes can be any text. */
const HEAD = 'Ebbgate';
/** JetStream's codes for "no room": storage, memory or a limit of the account or of the stream are used up. */
const FULL = new Set([10002, 10023, 10028, 10047, 10077]);
const REFUSED = [errors.AuthorizationError, errors.PermissionViolationError];

export function headOf({ id, deadline }: core.WireMessage): MsgHdrs {
  const head = headers();
  head.set(HEAD, JSON.stringify({ id, deadline: deadline?.epochMs }));
  return head;
}

export function messageOf(msg: Msg): core.WireMessage {
  const { id, deadline } = readHead(msg.headers?.get(HEAD) ?? '');
  return {
    id: typeof id === 'string' ? id : undefined,
    body: core.bytesBody(msg.data),
    deadline: typeof deadline === 'number' ? core.Deadline.atEpochMs(deadline) : undefined,
    expirationMs: undefined,
  };
}

/** Anybody can publish anything: what is no head of ours is none. */
function readHead(text: string): { readonly id?: unknown; readonly deadline?: unknown } {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    return {};
  }
}

/** The address for acknowledgements tells how often the server has handed it out. */
export function isRedelivered({ reply = '' }: Msg): boolean {
  const [count] = reply.split('.').slice(-5); // $JS.ACK.….<count>.<sequence>.<sequence>.<time>.<pending>
  return Number(count) > 1;
}

/** What the client threw, as an error of a driver. @param outcome - of a request that nobody has answered */
export function driverError(error: unknown, outcome: core.Outcome = 'not-sent'): core.MessagingError {
  if (error instanceof core.MessagingError) return error;
  const cause = core.redactedCause(error);
  const text = `NATS: ${cause.message}`;
  const chain = error instanceof Error ? [error, error.cause] : [];
  if (REFUSED.some((kind) => chain.some((one) => one instanceof kind)))
    return new core.AuthenticationError(text, { cause });
  if (error instanceof JetStreamApiError && FULL.has(error.code))
    return new core.BackpressureError(text, { cause });
  const isAnswer = error instanceof JetStreamApiError || error instanceof errors.ClosedConnectionError;
  return new core.MessageDeliveryError(text, { cause, outcome: isAnswer ? 'not-sent' : outcome });
}

/** Nobody serves the subject: there is no such stream or consumer. */
export function isNobody(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status === 404;
  return error instanceof errors.RequestError && error.isNoResponders();
}
