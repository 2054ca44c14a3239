import type { Target } from '@ebbgate/core';
import {
  type CallerContext,
  contextOf,
  currentContext,
  Deadline,
  InvalidTargetError,
  type MaybePromise,
  MessagingTimeoutError,
  onAbort,
  type RequestContext,
  SerializationError,
  type TargetOptions,
  type Transport,
  uniqueId,
  within,
} from '@ebbgate/core';
import { requestMessage, type RequestSending, type RpcRequest } from './envelope.js';
import { checkOptions, Prepared, type RpcClientOptions, type Shared } from './client-options.js';
import { type ClientCall, compose, settling } from './interceptors.js';
import { checkSendOptions, NO_OPTIONS, plainArgs, plainContext, type SendOptions } from './outgoing.js';
import { override, type PrepareOptions, type SendSettings } from './prepare.js';
import type { ReplyWaiter } from './reply-waiters.js';
import { type Route, routeOf } from './route.js';
import { observeCall, rpcDiagnostics } from './rpc-diagnostics.js';
import { capAllows, checkCap } from './version.js';

/** What the sender of a call decides about its message. */
interface CallSending extends RequestSending {
  readonly deadline: Deadline;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const NO_ARGS: Record<string, unknown> = Object.freeze({});

/**
 * Calls methods of servers. Made once for a topic and shared; it never changes: {@link RpcClient.prepare} gives another
 * one with some parameters replaced, for one call or for many.
 */
export class RpcClient {
  readonly #shared: Shared;
  readonly #settings: SendSettings;
  readonly #chain: ((call: ClientCall) => Promise<unknown>) | undefined;
  #route: Route | undefined;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`), InvalidTargetError (`ERR_INVALID_TARGET`) for a bad option. */
  constructor(
    transport: Transport,
    target: Target | TargetOptions,
    options: RpcClientOptions | Prepared = {},
  ) {
    const { shared, settings } =
      options instanceof Prepared ? options : checkOptions(transport, target, options);
    this.#shared = shared;
    this.#settings = settings;
    if (shared.interceptors.length > 0)
      this.#chain = compose(shared.interceptors, (call) => this.#send(call), settling);
  }

  /** Where it sends to, and which interface. */
  get target(): Target {
    return this.#settings.target;
  }

  /** What it sends with. */
  get transport(): Transport {
    return this.#shared.transport;
  }

  /**
   * A client with some parameters replaced; this one stays as it is, and the new one can be prepared again. A parameter
   * that is absent keeps what was, an explicit null resets it.
   * @throws ConfigurationError (`ERR_CONFIGURATION`), InvalidTargetError (`ERR_INVALID_TARGET`) for a bad value.
   */
  prepare(overrides: PrepareOptions): RpcClient {
    const settings = override(this.#settings, overrides);
    return new RpcClient(this.#shared.transport, settings.target, new Prepared(this.#shared, settings));
  }

  /** May this version (default: the target's) be sent under the version cap? Without a cap any may. */
  canSendVersion(version: string | null | undefined = this.#settings.target.version): boolean {
    return capAllows(this.#settings.versionCap, version ?? undefined);
  }

  /**
   * Calls a method of one server and resolves with what it returned. Settles exactly once, whatever happens to the
   * connection. Bounded by the deadline of the request being served here, unless `detached`.
   *
   * @param context - members to send; undefined sends those of the request being served here
   * @param args - by name; `docs/decisions/0003-json-values.md` tells what becomes of each kind of value
   * @throws Rejects with what the method threw (a registered type, or RemoteError `ERR_REMOTE`); NoSuchMethodError,
   * UnsupportedVersionError, ValidationError from the server; MessagingTimeoutError (`ERR_TIMEOUT`);
   * MessageUndeliverableError, MessageDeliveryError, BackpressureError, AuthenticationError, TransportClosedError; and,
   * before anything is sent, ConfigurationError, InvalidTargetError, RpcVersionCapError, SerializationError, or the
   * signal's reason.
   */
  call(
    context: CallerContext,
    method: string,
    args: object = NO_ARGS,
    options: SendOptions = NO_OPTIONS,
  ): Promise<unknown> {
    return this.#start('call', context, method, args, options);
  }

  /**
   * Sends a request that nobody answers. Resolves when the broker has stored it (AMQP-03).
   * @throws Rejects with what {@link RpcClient.call} names for sending.
   */
  async cast(
    context: CallerContext,
    method: string,
    args: object = NO_ARGS,
    options: SendOptions = NO_OPTIONS,
  ): Promise<void> {
    await this.#start('cast', context, method, args, options);
  }

  #start(
    kind: 'call' | 'cast',
    given: CallerContext,
    method: string,
    args: object,
    options: SendOptions,
  ): Promise<unknown> {
    const named = args as Record<string, unknown>; // any object is keyed by names; plainArgs refuses lists
    const call: ClientCall = {
      kind,
      target: this.target,
      method,
      args: named,
      context: contextOf(given),
      options,
    };
    const send = this.#chain ?? this.#send;
    return rpcDiagnostics.client.hasSubscribers ? observeCall(call, () => send(call)) : send(call);
  }

  /** The end of the chain of interceptors. */
  readonly #send = (call: ClientCall): Promise<unknown> =>
    call.kind === 'call' ? this.#call(call) : this.#cast(call);

  #call({ method, args, context, options }: ClientCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      checkSendOptions(options);
      const { signal } = options;
      signal?.throwIfAborted();
      const { waiters, serializer, resultOf } = this.#shared;
      const route = this.#routeFor('call');
      checkMethod(method);
      const monitorMs = this.#settings.callMonitorTimeoutMs;
      const timeoutMs = this.#patience(context, options);
      const msgId = uniqueId();
      const request: RpcRequest = {
        uniqueId: msgId, // as fresh for each send: one id serves for both
        method,
        args: plainArgs(args, context, serializer),
        namespace: route.namespace,
        version: route.version,
        context: plainContext(context, serializer),
        msgId,
        replyTo: waiters.address,
        monitorMs,
      };
      const deadline = Deadline.after(timeoutMs);
      const waiter = waiters.add(msgId, { deadline, monitorMs, context, resultOf }, resolve, reject);
      if (signal) failOnAbort(waiter, signal);
      this.#publishCall(waiter, route, request, { deadline, expirationMs: timeoutMs });
    });
  }

  #publishCall(waiter: ReplyWaiter, route: Route, request: RpcRequest, sending: CallSending): void {
    const fail = (error: unknown): void => {
      waiter.fail(error);
    };
    if (request.replyTo === undefined) {
      const publish = (replyTo: string): MaybePromise<void> =>
        waiter.pending ? this.#publish(route, { ...request, replyTo }, sending, sending.deadline) : undefined;
      this.#openReplies(sending.deadline).then(publish).catch(fail);
      return;
    }
    try {
      this.#publish(route, request, sending, sending.deadline)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  async #cast({ method, args, context, options }: ClientCall): Promise<undefined> {
    checkSendOptions(options);
    const { signal } = options;
    signal?.throwIfAborted();
    const { serializer } = this.#shared;
    const route = this.#routeFor('cast');
    checkMethod(method);
    const request: RpcRequest = {
      uniqueId: uniqueId(),
      method,
      args: plainArgs(args, context, serializer),
      namespace: route.namespace,
      version: route.version,
      context: plainContext(context, serializer),
      msgId: undefined,
      replyTo: undefined,
      monitorMs: undefined,
    };
    const deadline = Deadline.after(this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const sent = this.#publish(route, request, { deadline: undefined, expirationMs: undefined }, deadline);
    if (sent) await (signal ? within(sent, { signal }) : sent);
    return undefined;
  }

  /** The reply queue; retry bounds connecting as it does for a cast (AMQP-19). */
  async #openReplies(deadline: Deadline): Promise<string> {
    const { transport, waiters } = this.#shared;
    const { retry } = this.#settings;
    if (retry !== undefined) await transport.reach(deadline, retry);
    return waiters.open();
  }

  #publish(
    route: Route,
    request: RpcRequest,
    sending: RequestSending,
    deadline: Deadline,
  ): MaybePromise<void> {
    const { destination, mandatory } = route;
    const { retry } = this.#settings;
    return this.#shared.transport.publish(destination, requestMessage(request, sending), {
      deadline,
      mandatory,
      retry,
    });
  }

  /** Milliseconds that a call may take: its own, cut to what is left of the request being served. */
  #patience(context: RequestContext, options: SendOptions): number {
    const ownMs = this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    if (options.detached === true || context.isDetached) return ownMs;
    const served = Deadline.earlier(context.deadline, currentContext()?.deadline);
    if (!served) return ownMs;
    const leftMs = served.remainingMs;
    if (leftMs > 0) return Math.min(ownMs, leftMs);
    throw new MessagingTimeoutError('The caller of the request being served here has given up', {
      outcome: 'not-sent',
    });
  }

  #routeFor(kind: 'call' | 'cast'): Route {
    const { target, versionCap } = this.#settings;
    if (kind === 'call' && target.fanout)
      throw new InvalidTargetError('A call cannot be used with fanout', target);
    checkCap(versionCap, target.version);
    this.#route ??= routeOf(this.#settings, this.#shared.transport.controlExchange);
    return this.#route;
  }
}

function checkMethod(method: unknown): void {
  if (typeof method === 'string') return;
  throw new SerializationError(`The name of a method must be text, not ${typeof method}`, { path: 'method' });
}

function failOnAbort(waiter: ReplyWaiter, signal: AbortSignal): void {
  waiter.onLeave = onAbort(signal, () => {
    waiter.fail(signal.reason);
  });
}
