import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { MessagingError } from '@ebbgate/core';
import { faultBody, HttpError } from './http-error.js';

/** What our own errors are for a client. A time-out may have come after the change: 503 says no more than that. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['ERR_VALIDATION', 400],
  ['ERR_NO_VALID_HOST', 400],
  ['ERR_MIGRATION_PRE_CHECK', 400],
  ['ERR_NOT_FOUND', 404],
  ['ERR_UNEXPECTED_STATE', 409],
  ['ERR_HOST_DOWN', 409],
  ['ERR_DATABASE', 503],
  ['ERR_DELIVERY', 503],
  ['ERR_DRAINING', 503],
  ['ERR_TIMEOUT', 503],
  ['ERR_TRANSPORT_CLOSED', 503],
  ['ERR_UNDELIVERABLE', 503],
]);
/** What Fastify says of bodies and paths that it does not read. */
const FRAMEWORK: ReadonlyMap<number, string> = new Map([
  [400, 'Malformed request body'],
  [413, 'Request is too large.'],
  [414, 'Request URI is too long.'],
  [415, 'Unsupported Content-Type: it must be application/json'],
]);

/** What Node says of what is no request; the others are 400. */
const UNREADABLE: ReadonlyMap<string | undefined, number> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_HEADER_OVERFLOW', 431],
]);

/** Codes that tell of the way to the records, or to a host, not of what is there. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof MessagingError && STATUSES.get(error.code) === 503;
}

/** What a client is told of anything that was thrown; undefined: a fault of ours, of which it is told nothing. */
export function httpErrorOf(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof MessagingError) {
    const status = STATUSES.get(error.code);
    if (status === 503) return new HttpError(503, 'The service cannot do this now; try again later');
    return status === undefined ? undefined : new HttpError(status, error.message);
  }
  const framework = (error as { readonly statusCode?: unknown } | null)?.statusCode; // an error of Fastify has it
  if (typeof framework !== 'number' || framework < 400 || framework >= 500) return undefined;
  return new HttpError(framework, FRAMEWORK.get(framework) ?? 'The request cannot be read');
}

/** Answers what is no request, in the form of all errors, and closes the connection. */
export function answerUnreadable({ code }: { readonly code?: string }, socket: Socket): void {
  const status = UNREADABLE.get(code) ?? 400;
  const body = JSON.stringify(faultBody({ status, message: 'The request cannot be read' }));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Length: ${body.length}`,
    'Content-Type: application/json; charset=utf-8',
    'Connection: close',
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  else socket.destroy();
}
