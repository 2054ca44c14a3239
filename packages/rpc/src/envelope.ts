import {
  addContext,
  type BodyForm,
  contextSize,
  type ContextValues,
  copyContext,
  copyPlain,
  type Deadline,
  decodeEnvelopedBytes,
  encodePlain,
  estimateSize,
  LocalBody,
  type PlainObject,
  type PlainValue,
  readContext,
  SerializationError,
  uniqueId,
  type WireMessage,
} from '@ebbgate/core';

/** Characters of an id or a reply address; ours have 32 and less than 50. */
const LONGEST_ID = 1024;

/** Arguments by name. */
export type PlainArgs = PlainObject;

/** A request as both sides see it: plain data, the receiver's own. */
export interface RpcRequest {
  /** Fresh for each send: by it a duplicate is known. Undefined when the sender gave none. */
  readonly uniqueId: string | undefined;
  readonly method: string;
  readonly args: PlainArgs;
  /** Null: the null namespace. */
  readonly namespace: string | null;
  /** Undefined: none was sent; a server reads it as 1.0. */
  readonly version: string | undefined;
  readonly context: ContextValues;
  /** Set for calls: the id under which the caller waits. */
  readonly msgId: string | undefined;
  /** Set for calls: where the caller waits. */
  readonly replyTo: string | undefined;
  /** Milliseconds between signs of life that the caller wants at most; undefined for none. */
  readonly monitorMs: number | undefined;
}

/** The answer to a call, or (`ending` false) a sign of life. */
export interface RpcReply {
  readonly msgId: string;
  readonly result: PlainValue;
  /** Null: none. A failure wins over a result. Whatever it is that a peer sent, `decodeFailure` makes an error of it. */
  readonly failure: PlainValue;
  readonly ending: boolean;
}

const requestForm: BodyForm<RpcRequest> = {
  toWire: (request) => {
    const { method, args, namespace, version, msgId, replyTo, monitorMs } = request;
    const inner: Record<string, unknown> = { method, args };
    if (namespace !== null) inner['namespace'] = namespace; // unset keys are left out: a null version is refused (wire.md 1.6)
    if (version !== undefined) inner['version'] = version;
    if (msgId !== undefined) {
      inner['_msg_id'] = msgId;
      inner['_reply_q'] = replyTo;
      inner['_timeout'] = monitorMs === undefined ? null : monitorMs / 1000;
    }
    inner['_unique_id'] = request.uniqueId;
    addContext(inner, request.context);
    return inner;
  },
  fork: (request) => ({
    ...request,
    args: copyPlain(request.args),
    context: copyContext(request.context),
  }),
  size: (request) => 256 + estimateSize(request.args) + contextSize(request.context),
};

const replyForm: BodyForm<RpcReply> = {
  toWire: ({ result, failure, ending, msgId }) => ({
    result,
    failure: failure === null || typeof failure === 'string' ? failure : encodePlain(failure),
    ending,
    _msg_id: msgId,
    _unique_id: uniqueId(),
  }),
  fork: (reply) => ({ ...reply, result: copyPlain(reply.result) }),
  size: (reply) => 128 + estimateSize(reply.result) + (reply.failure === null ? 0 : 1024),
};

/** What the sender of a request decides about its message. */
export interface RequestSending {
  readonly deadline: Deadline | undefined;
  readonly expirationMs: number | undefined;
}

/** A message for a request whose arguments and context are plain data that nobody else holds. */
export function requestMessage(request: RpcRequest, { deadline, expirationMs }: RequestSending): WireMessage {
  return { id: request.uniqueId, body: new LocalBody(request, requestForm), deadline, expirationMs };
}

/** A message for a reply. Its id is made when it is encoded: no one asks for it before. */
export function replyMessage(reply: RpcReply): WireMessage {
  return {
    id: undefined,
    body: new LocalBody(reply, replyForm),
    deadline: undefined,
    expirationMs: undefined,
  };
}

/**
 * The request in a message.
 * @throws SerializationError when it is none.
 */
export function readRequest(message: WireMessage): RpcRequest {
  const { body } = message;
  if (body instanceof LocalBody && isRequest(body.local)) return body.local;
  const inner = decodeEnvelopedBytes(body.encode());
  const method = inner['method'];
  if (typeof method !== 'string')
    throw new SerializationError('A request needs a text "method"', { path: 'method' });
  const replyTo = optionalId(inner, '_reply_q');
  const msgId = optionalId(inner, '_msg_id');
  return {
    uniqueId: optionalId(inner, '_unique_id'),
    method,
    args: readArgs(inner['args']),
    namespace: optionalText(inner, 'namespace') ?? null,
    version: readVersion(inner),
    context: readContext(inner),
    msgId,
    replyTo,
    monitorMs: readMonitor(inner['_timeout']),
  };
}

/**
 * The reply in a message.
 * @throws SerializationError when it is none.
 */
export function readReply(message: WireMessage): RpcReply {
  const { body } = message;
  if (body instanceof LocalBody && !isRequest(body.local)) return body.local as RpcReply; // ours are requests or replies
  const inner = decodeEnvelopedBytes(body.encode());
  const msgId = optionalId(inner, '_msg_id');
  if (msgId === undefined)
    throw new SerializationError('A reply needs a text "_msg_id"', { path: '_msg_id' });
  return {
    msgId,
    result: inner['result'] ?? null,
    failure: inner['failure'] || null, // the empty text too is none (wire.md 1.7)
    ending: Boolean(inner['ending']),
  };
}

function isRequest(local: unknown): local is RpcRequest {
  return typeof local === 'object' && local !== null && 'method' in local;
}

function own(inner: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(inner, key) ? inner[key] : undefined;
}

function optionalText(inner: PlainObject, key: string): string | undefined {
  const value = own(inner, key);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new SerializationError(`"${key}" must be text`, { path: key });
}

/** Ids and addresses are kept, as keys, and logged: longer ones are none. */
function optionalId(inner: PlainObject, key: string): string | undefined {
  const id = optionalText(inner, key);
  if (id === undefined || id.length <= LONGEST_ID) return id;
  throw new SerializationError(`"${key}" has more than ${String(LONGEST_ID)} characters`, { path: key });
}

/** An explicit null, or what is no text, is kept apart from none at all: it is compatible with nothing (wire.md 1.6). */
function readVersion(inner: PlainObject): string | undefined {
  const version = own(inner, 'version');
  if (version === undefined || typeof version === 'string') return version;
  return version === null ? 'null' : `of type ${typeof version}`;
}

function readArgs(args: PlainValue | undefined): PlainArgs {
  if (args === undefined) return {};
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args;
  throw new SerializationError('"args" must be an object', { path: 'args' });
}

/** The caller's `_timeout` in seconds; what is no positive number asks for no monitor. */
function readMonitor(timeout: PlainValue | undefined): number | undefined {
  const seconds = typeof timeout === 'string' ? Number(timeout) : timeout;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
