/** Names of Nova's faults; the others are `computeFault`. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [400, 'badRequest'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'itemNotFound'],
  [405, 'badMethod'],
  [409, 'conflictingRequest'],
  [413, 'overLimit'],
  [415, 'badMediaType'],
  [429, 'overLimit'],
  [501, 'notImplemented'],
  [503, 'serviceUnavailable'],
]);

/** Headers of an answer, by their names. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/** What a client is told instead of what it wanted. Its message goes outside as it is. */
export class HttpError extends Error {
  /** Of HTTP. */
  readonly status: number;
  /** Besides those that each answer has. */
  readonly headers: AnswerHeaders;

  constructor(status: number, message: string, headers: AnswerHeaders = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }
}

/** The body of an error, in OpenStack's form; 401 in that of Keystone's middleware. */
export function faultBody({ status, message }: Pick<HttpError, 'status' | 'message'>): object {
  if (status === 401) return { error: { message, code: 401, title: 'Unauthorized' } };
  return { [FAULTS.get(status) ?? 'computeFault']: { code: status, message } };
}

/** 400: the request is none. */
export function badRequest(message: string): HttpError {
  return new HttpError(400, message);
}

/** 404: there is nothing of that name. */
export function notFound(message: string): HttpError {
  return new HttpError(404, message);
}
