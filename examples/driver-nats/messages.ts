import * as core from '@ebbgate/core';
import { JetStreamApiError } from '@nats-io/jetstream';
import { errors, headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';

const [ID, DEADLINE] = ['Ebbgate-Id', 'Ebbgate-Deadline'];
/** JetStream's codes for "no room": storage, memory or a limit of the account or of the stream are used up. */
const FULL = new Set([10002, 10023, 10028, 10047, 10077]);
const REFUSED = [errors.AuthorizationError, errors.PermissionViolationError];

/** An identifier can be any text, and a header cannot. */
export function headOf({ id, deadline }: core.WireMessage): MsgHdrs {
  const head = headers();
  if (id !== undefined) head.set(ID, Buffer.from(id).toString('base64'));
  if (deadline) head.set(DEADLINE, String(deadline.epochMs));
  return head;
}

export function received(msg: Msg): Pick<core.Delivery, 'message' | 'redelivered'> {
  const { headers: head, data, reply = '' } = msg;
  const [id, at] = [head?.get(ID), Number(head?.get(DEADLINE))];
  const deadline = at > 0 && at < Infinity ? core.Deadline.atEpochMs(at) : undefined;
  const [count] = reply.split('.').slice(-5); // $JS.ACK.….<count>.<sequence>.<sequence>.<time>.<pending>
  const message = { id: id && Buffer.from(id, 'base64').toString(), body: core.bytesBody(data), deadline };
  return { message: { ...message, expirationMs: undefined }, redelivered: Number(count) > 1 };
}

/** What the client threw, as an error of a driver. @param outcome - of a request that nobody has answered */
export function driverError(error: unknown, outcome: core.Outcome = 'not-sent'): core.MessagingError {
  if (error instanceof core.MessagingError) return error;
  const cause = core.redactedCause(error);
  const text = `NATS: ${cause.message}`;
  const chain = error instanceof Error ? [error, error.cause] : [];
  if (REFUSED.some((kind) => chain.some((one) => one instanceof kind)))
    return new core.AuthenticationError(text, { cause });
  const answer = error instanceof JetStreamApiError ? error : undefined;
  if (answer && FULL.has(answer.code)) return new core.BackpressureError(text, { cause });
  const isCertain = answer ?? error instanceof errors.ClosedConnectionError;
  return new core.MessageDeliveryError(text, { cause, outcome: isCertain ? 'not-sent' : outcome });
}

/** There is no such stream or consumer; the client then takes JetStream for missing. */
export function isNobody(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status === 404;
  return error instanceof Error && error.cause instanceof errors.RequestError && error.cause.isNoResponders();
}
