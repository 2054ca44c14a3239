import {
  type ContextValues,
  InvalidTargetError,
  isThenable,
  type MaybePromise,
  MessageServer,
  RequestContext,
  runWithContext,
  SerializationError,
  type Serializer,
  type ServerCounts,
  type ServerSource,
  type ServerState,
  Target,
  type TargetOptions,
  type Transport,
  type WaitOptions,
  type WaitReport,
  type WireMessage,
} from '@ebbgate/core';
import { expose } from './access-policy.js';
import { Answers, type Incoming } from './answers.js';
import { CallMonitor } from './call-monitor.js';
import { RpcDispatcher } from './dispatcher.js';
import { readRequest, type RpcRequest } from './envelope.js';
import { compose, type ServerRequest } from './interceptors.js';
import { observeCall, rpcDiagnostics } from './rpc-diagnostics.js';
import { checkServerOptions, type RpcServerOptions } from './server-options.js';

/** Counts since the server was made. */
export interface RpcServerCounts extends ServerCounts {
  /** Requests that no endpoint took; they count as `run` too. */
  readonly undispatchable: number;
}

const PING = 'oslo_rpc_server_ping';
const pingEndpoint = Object.freeze({ [PING]: expose(() => 'pong') });

/**
 * Serves endpoints on a topic: {@link MessageServer} and {@link RpcDispatcher} together. Stopping breaks nothing that
 * was taken: `stop()` ends intake, `wait()` resolves when all is answered.
 */
export class RpcServer {
  /** What it listens to. */
  readonly target: Target;
  readonly #source: ServerSource;
  readonly #server: MessageServer<Incoming>;
  readonly #dispatcher: RpcDispatcher;
  readonly #answers: Answers;
  readonly #serializer: Serializer | undefined;
  readonly #enter: (request: ServerRequest) => unknown;

  /**
   * @param target - needs a topic and a server; the exchange defaults to the transport's control exchange
   * @param endpoints - objects whose methods take `(context, args)`; an attribute `target` gives namespace and version
   * @throws InvalidTargetError (`ERR_INVALID_TARGET`), ConfigurationError (`ERR_CONFIGURATION`); TypeError for an
   * endpoint whose reserved attributes have the wrong type
   */
  constructor(
    transport: Transport,
    target: Target | TargetOptions,
    endpoints: readonly object[],
    options: RpcServerOptions = {},
  ) {
    checkServerOptions(options);
    const { accessPolicy, serializer, interceptors, beforeAccept, ping, trace, remoteErrors, ...rest } =
      options;
    this.target = target instanceof Target ? target : new Target(target);
    this.#serializer = serializer;
    this.#answers = new Answers(transport, serializer, {
      trace: trace === true,
      ...(remoteErrors && { registry: remoteErrors }),
    });
    const bare = new RpcDispatcher(endpoints, accessPolicy);
    this.#dispatcher =
      ping && !bare.has(PING) ? new RpcDispatcher([...endpoints, pingEndpoint], accessPolicy) : bare;
    this.#enter = compose(interceptors ?? [], (request) => this.#invoke(request));
    const handler = {
      read: (message: WireMessage) => this.#read(message),
      idOf: ({ request }: Incoming) => request.uniqueId,
      run: (incoming: Incoming) => this.#run(incoming),
      ...(beforeAccept && {
        beforeAccept: ({ fault, seen }: Incoming) => (fault === undefined ? beforeAccept(seen) : undefined),
      }),
    };
    this.#source = sourceOf(this.target, transport);
    this.#server = new MessageServer(transport, this.#source, handler, rest);
  }

  /** Where it is between `start()` and the end of `wait()`. */
  get state(): ServerState {
    return this.#server.state;
  }

  /** Handlers that run. */
  get running(): number {
    return this.#server.running;
  }

  /** Fetched requests that wait for a slot. */
  get waiting(): number {
    return this.#server.waiting;
  }

  /** What became of the requests that it was given; a copy. */
  get counts(): RpcServerCounts {
    return { ...this.#server.counts, undispatchable: this.#answers.undispatchable.count };
  }

  /** Resolves when requests can arrive. @throws ServerListenError (`ERR_SERVER_LISTEN`) */
  start(): Promise<void> {
    return this.#server.start();
  }

  /** Resolves when the broker sends this server nothing more; what was fetched before still runs. */
  stop(): Promise<void> {
    return this.#server.stop();
  }

  /**
   * Resolves when every request taken has been handled and its reply is out.
   * @throws ServerWaitTimeoutError (`ERR_WAIT_TIMEOUT`) at the time limit; the signal's reason when it aborts
   */
  async wait(options: WaitOptions = {}): Promise<WaitReport> {
    const report = await this.#server.wait(options);
    this.#answers.replies.abandon();
    return report;
  }

  /** Resolves when no handler runs and no fetched request waits for a slot; a drain waits for it. */
  whenIdle(): Promise<void> {
    return this.#server.whenIdle();
  }

  #read(message: WireMessage): Incoming {
    const request = readRequest(message);
    const { topic, server } = this.#source;
    let values: ContextValues = request.context;
    let fault: unknown;
    try {
      if (this.#serializer) values = this.#serializer.deserializeContext(values);
    } catch (error) {
      fault = error ?? new SerializationError('The context cannot be read');
    }
    const seen: ServerRequest = {
      method: request.method,
      args: request.args,
      context: new RequestContext(values, message.deadline),
      namespace: request.namespace,
      version: request.version ?? '1.0',
      topic,
      server,
      isCall: request.msgId !== undefined,
      messageId: request.uniqueId,
    };
    return { request, seen, fault };
  }

  #run(incoming: Incoming): MaybePromise<void> {
    if (incoming.fault !== undefined) return this.#answers.failure(incoming, incoming.fault);
    const monitor = this.#monitor(incoming.request);
    let outcome: unknown;
    try {
      outcome = rpcDiagnostics.server.hasSubscribers
        ? this.#observed(incoming.seen)
        : this.#enter(incoming.seen);
      if (isThenable(outcome)) {
        return Promise.resolve(outcome).then(
          (result) => this.#answer(incoming, monitor, result),
          (error: unknown) => this.#fail(incoming, monitor, error),
        );
      }
    } catch (error) {
      return this.#fail(incoming, monitor, error);
    }
    return this.#answer(incoming, monitor, outcome);
  }

  #answer(incoming: Incoming, monitor: CallMonitor | undefined, result: unknown): MaybePromise<void> {
    monitor?.end();
    incoming.seen.context.answered();
    return this.#answers.result(incoming, result);
  }

  #fail(incoming: Incoming, monitor: CallMonitor | undefined, error: unknown): MaybePromise<void> {
    monitor?.end();
    incoming.seen.context.answered();
    return this.#answers.failure(incoming, error);
  }

  #observed(seen: ServerRequest): Promise<unknown> {
    const { method, context, isCall } = seen;
    const call = { kind: isCall ? 'call' : 'cast', method, context, target: this.target } as const;
    return observeCall(call, () => this.#enter(seen), rpcDiagnostics.server);
  }

  /** The end of the chain of interceptors: finds the method and calls it in its context. */
  #invoke(seen: ServerRequest): unknown {
    const method = this.#dispatcher.find(seen);
    const { context } = seen;
    const args = this.#serializer ? deserialized(seen.args, context, this.#serializer) : seen.args;
    return runWithContext(context, method, context, args);
  }

  #monitor({ monitorMs, msgId, replyTo }: RpcRequest): CallMonitor | undefined {
    if (monitorMs === undefined || msgId === undefined || replyTo === undefined) return undefined;
    return new CallMonitor(monitorMs, () => this.#answers.replies.beat(replyTo, msgId) ?? undefined);
  }
}

function sourceOf(target: Target, transport: Transport): ServerSource {
  const { exchange = transport.controlExchange, topic, server } = target;
  if (topic === undefined || topic === '' || server === undefined || server === '') {
    throw new InvalidTargetError("A server's target must have topic and server names specified", target);
  }
  return Object.freeze({ exchange, topic, server });
}

function deserialized(
  args: Record<string, unknown>,
  context: RequestContext,
  serializer: Serializer,
): Record<string, unknown> {
  const entries = Object.entries(args).map(([name, value]) => [
    name,
    serializer.deserializeEntity(context.values, value),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>; // own members, whatever their names
}
