import { MessagingError, type RequestContext, type Target } from '@ebbgate/core';
import type { SendOptions } from './outgoing.js';

/** One call or cast on its way out. */
export interface ClientCall {
  /** Whether an answer is waited for. */
  readonly kind: 'call' | 'cast';
  /** Where it goes: for looking at. To send elsewhere an interceptor calls a prepared client and not `next`. */
  readonly target: Target;
  /** Its name. */
  readonly method: string;
  /** By name, as the caller gave them. */
  readonly args: Record<string, unknown>;
  /** What is sent besides the arguments. */
  readonly context: RequestContext;
  /** As the caller gave them. */
  readonly options: SendOptions;
}

/** One request on its way in, before its endpoint is looked for. */
export interface ServerRequest {
  /** Its name, as it was sent. */
  readonly method: string;
  /** By name, before the serializer has read them. */
  readonly args: Record<string, unknown>;
  /** What the caller sent besides them, and its deadline. */
  readonly context: RequestContext;
  /** Null for the interface without a name. */
  readonly namespace: string | null;
  /** As sent; 1.0 when none was. */
  readonly version: string;
  /** The topic that this server listens to. */
  readonly topic: string;
  /** The server that got it. */
  readonly server: string;
  /** Whether somebody waits for the result. */
  readonly isCall: boolean;
  /** The same when the message is delivered again; undefined when its sender gave none. */
  readonly messageId: string | undefined;
}

/**
 * Stands around every message of one side: may look at it, replace it, answer it by itself, or refuse it by throwing.
 * It hands on by calling `next`, once at most, and returns what that gives or something else.
 */
export type Interceptor<Message, Outcome> = (
  message: Message,
  next: (message: Message) => Outcome,
) => Outcome;

/** Around each send of a client; `call` and `cast` alike. */
export type ClientInterceptor = Interceptor<ClientCall, Promise<unknown>>;

/**
 * Around each request that a server has accepted, before its endpoint is looked for. What `next` gives is a promise only
 * when the method, or an interceptor further in, gives one: `await` it. So a short method costs no promise.
 */
export type ServerInterceptor = Interceptor<ServerRequest, unknown>;

/**
 * One function out of a chain, the first interceptor outermost. Without interceptors it is `last` itself.
 *
 * @param call - calls one interceptor; the default passes on what it returns and throws
 * @throws MessagingError (`ERR_MESSAGING`), to the interceptor, when it calls `next` a second time: a retry belongs
 * around the client, where each try has a message of its own
 */
export function compose<Message, Outcome>(
  interceptors: readonly Interceptor<Message, Outcome>[],
  last: (message: Message) => Outcome,
  call: (work: () => Outcome) => Outcome = (work) => work(),
): (message: Message) => Outcome {
  return interceptors.reduceRight<(message: Message) => Outcome>(
    (next, each) => (message) => call(() => each(message, once(each, next))),
    last,
  );
}

function once<Message, Outcome>(
  { name }: Interceptor<Message, Outcome>,
  inner: (message: Message) => Outcome,
): (message: Message) => Outcome {
  let called = false;
  return (message) => {
    if (called) {
      const who = name === '' ? 'An interceptor' : `The interceptor ${name}`;
      throw new MessagingError(`${who} called next() twice`, { outcome: 'unknown' });
    }
    called = true;
    return inner(message);
  };
}

/** A promise of what `work` gives; what it throws is a rejection. The promise that it gives, when it gives one. */
export function settling(work: () => Promise<unknown>): Promise<unknown> {
  // No async function: it would be a promise more for every message.
  try {
    return Promise.resolve(work());
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}
