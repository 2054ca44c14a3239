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
export type Interceptor<Message> = (
  message: Message,
  next: (message: Message) => Promise<unknown>,
) => Promise<unknown>;

/** Around each send of a client; `call` and `cast` alike. */
export type ClientInterceptor = Interceptor<ClientCall>;

/** Around each request that a server has accepted, before its endpoint is looked for. */
export type ServerInterceptor = Interceptor<ServerRequest>;

/**
 * One function out of a chain, the first interceptor outermost. Without interceptors it is `last` itself. Whatever an
 * interceptor throws, the promise rejects with it.
 *
 * @throws (rejects with) MessagingError (`ERR_MESSAGING`) when an interceptor calls `next` a second time: a retry
 * belongs around the client, where each try has a message of its own
 */
export function compose<Message>(
  interceptors: readonly Interceptor<Message>[],
  last: (message: Message) => Promise<unknown>,
): (message: Message) => Promise<unknown> {
  return interceptors.reduceRight<(message: Message) => Promise<unknown>>(
    (next, each) => around(each, next),
    last,
  );
}

function around<Message>(
  interceptor: Interceptor<Message>,
  inner: (message: Message) => Promise<unknown>,
): (message: Message) => Promise<unknown> {
  // No async functions here: each is a promise for every request, and most requests are short.
  return (message) => {
    let called = false;
    const next = (handedOn: Message): Promise<unknown> => {
      if (called) {
        const name = interceptor.name === '' ? 'An interceptor' : `The interceptor ${interceptor.name}`;
        const twice = new MessagingError(`${name} called next() twice`, { outcome: 'unknown' });
        return Promise.reject(twice);
      }
      called = true;
      return inner(handedOn);
    };
    return settling(() => interceptor(message, next));
  };
}

/** A promise of what `work` gives; what it throws is a rejection. The promise that it gives, when it gives one. */
export function settling(work: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}
