import {
  copyPlain,
  type MaybePromise,
  redactedCause,
  type Serializer,
  toPlain,
  type Transport,
} from '@ebbgate/core';
import type { RpcRequest } from './envelope.js';
import { unwrapExpected } from './expected-exceptions.js';
import { encodeFailure, type EncodeFailureOptions } from './failure.js';
import type { ServerRequest } from './interceptors.js';
import { ReplySender } from './reply-sender.js';
import { UndispatchableLog } from './undispatchable-log.js';

/** Most characters of a request id in the log. */
const MOST_ID = 200;

/** What a server keeps of a request between reading and answering it. */
export interface Incoming {
  readonly request: RpcRequest;
  readonly seen: ServerRequest;
  /** Why its context cannot be read: told to the caller. */
  readonly fault: unknown;
}

/** Ends requests: sends the result or the failure to whoever waits for it, and tells the log of failures. */
export class Answers {
  readonly replies: ReplySender;
  readonly undispatchable: UndispatchableLog;
  readonly #transport: Transport;
  readonly #serializer: Serializer | undefined;
  readonly #options: EncodeFailureOptions;

  constructor(transport: Transport, serializer: Serializer | undefined, options: EncodeFailureOptions) {
    this.#transport = transport;
    this.#serializer = serializer;
    this.#options = options;
    this.replies = new ReplySender(transport);
    this.undispatchable = new UndispatchableLog(transport);
  }

  /** Never throws or rejects for what has to do with the result: then the caller is told so, and told why (RPC-17). */
  result(incoming: Incoming, result: unknown): MaybePromise<void> {
    const { msgId, replyTo } = incoming.request;
    if (msgId === undefined || replyTo === undefined) return; // casts are never answered (RPC-09)
    const failure = (error: unknown): MaybePromise<void> => this.failure(incoming, error);
    try {
      const { values } = incoming.seen.context;
      const entity = this.#serializer ? this.#serializer.serializeEntity(values, result) : result;
      const plain = toPlain(entity, undefined, 'result');
      return this.replies.send(replyTo, { msgId, result: plain, failure: null, ending: true }, failure);
    } catch (error) {
      return failure(error);
    }
  }

  failure(incoming: Incoming, thrown: unknown): MaybePromise<void> {
    const { request, seen } = incoming;
    const error = this.#toldAnyhow(incoming, thrown);
    const { msgId, replyTo } = request;
    if (msgId === undefined || replyTo === undefined) return;
    // A copy: of an error that is passed on its first receiver here has the parts too (CORE-06).
    const failure = copyPlain(encodeFailure(error, this.#options));
    const unanswered = (cause: unknown): void => {
      const fields = { method: seen.method, topic: seen.topic, msgId, err: loggable(cause) };
      this.#transport.logger.warn(fields, 'A reply could not be sent');
    };
    return this.replies.send(replyTo, { msgId, result: null, failure, ending: true }, unanswered);
  }

  /** A proxy can refuse to be told apart from others; its caller is to be told all the same. */
  #toldAnyhow(incoming: Incoming, thrown: unknown): unknown {
    try {
      return this.#told(incoming, thrown);
    } catch {
      return this.#told(incoming, new Error('An error that cannot be read was thrown'));
    }
  }

  /** Tells the log, and gives what the caller is to be told. */
  #told({ request, seen }: Incoming, thrown: unknown): unknown {
    const { error, expected } = unwrapExpected(thrown);
    if (!this.undispatchable.report(request, seen.topic, error)) this.#logFailure(seen, error, expected);
    return error;
  }

  #logFailure({ method, topic, context }: ServerRequest, error: unknown, expected: boolean): void {
    const requestId = context.requestId?.slice(0, MOST_ID); // its sender chose it
    const fields = { method, topic, requestId, err: loggable(error) };
    if (expected) this.#transport.logger.debug(fields, 'A method threw an expected error');
    else this.#transport.logger.error(fields, 'A method threw an error');
  }
}

/** Without secrets. What is thrown may be anything, and have getters that throw in their turn. */
function loggable(thrown: unknown): Error | string {
  try {
    return redactedCause(thrown);
  } catch {
    return 'an error that cannot be read';
  }
}
