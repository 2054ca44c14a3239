import { createTransport, type RequestContext, type TargetOptions, type Transport } from '@ebbgate/core';
import { createRabbitDriver } from '@ebbgate/driver-amqp';
import {
  expectedExceptions,
  RemoteErrorRegistry,
  RpcClient,
  type RpcClientOptions,
  RpcServer,
  type RpcServerOptions,
} from '@ebbgate/rpc';
import { CapturedLog } from '../support/captured-log.js';
import { type Deferred, deferred, rejectionOf } from '../support/deferred.js';
import { within } from '../support/rigs/deadline.js';
import { OsloError, type OsloCall, type OsloPeer, startOsloPeer } from '../support/rigs/python-oslo.js';
import type { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

export const LIMIT_MS = 15_000;

type Args = Readonly<Record<string, unknown>>;

/** A Python exception that our side knows by its module and name. */
export class PythonValueError extends Error {}
/** The same, of a library. */
export class PythonLibraryError extends Error {}
/** One that nobody knows. */
export class OutOfStock extends Error {}

/** What both our sides know of Python's errors. */
export function pythonErrors(): RemoteErrorRegistry {
  return new RemoteErrorRegistry()
    .register(PythonValueError, { module: 'builtins', name: 'ValueError' })
    .register(PythonLibraryError, { module: 'oslo_messaging.exceptions', name: 'MessagingException' });
}

/** Our methods, by the names that the Python peer's have too. */
export class OurEndpoint {
  readonly target: TargetForEndpoint;
  /** The arguments of each call, by method, in order. */
  readonly handled: { readonly method: string; readonly args: Args }[] = [];
  readonly #name: string;
  readonly #transport: Transport;
  readonly #gates = new Map<unknown, Deferred<void>>();
  readonly expected: unknown = expectedExceptions(
    [RangeError],
    (_context: RequestContext, { text }: Args) => {
      throw new RangeError(String(text));
    },
  );

  constructor(transport: Transport, name: string, target: TargetForEndpoint) {
    this.#transport = transport;
    this.#name = name;
    this.target = target;
  }

  echo(_context: RequestContext, args: Args): unknown {
    this.#tell('echo', args);
    return args;
  }

  value(_context: RequestContext, { value }: Args): unknown {
    return value;
  }

  add(_context: RequestContext, { a, b }: Args): unknown {
    return typeof a === 'bigint' || typeof b === 'bigint' ? big(a) + big(b) : Number(a) + Number(b);
  }

  who(): string {
    return this.#name;
  }

  context(context: RequestContext): unknown {
    return { ...context.values };
  }

  fail(_context: RequestContext, { type, text }: Args): never {
    const make = ERRORS.get(String(type));
    throw make ? make(String(text)) : new Error('no such error');
  }

  async slow(_context: RequestContext, { seconds, value }: Args): Promise<unknown> {
    this.#tell('slow', { seconds, value });
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
    return value;
  }

  async hold(_context: RequestContext, { key, value }: Args): Promise<unknown> {
    this.#tell('hold', { key });
    await this.#gate(key).promise;
    return value;
  }

  /** Calls the method `then` of another topic. */
  nested(context: RequestContext, { topic, then, args }: Args): Promise<unknown> {
    const client = new RpcClient(this.#transport, { topic: String(topic) }, { remoteErrors: pythonErrors() });
    return client.call(context, String(then), args as object); // an object, as the tests send it
  }

  release(key: unknown): void {
    this.#gate(key).resolve();
  }

  #gate(key: unknown): Deferred<void> {
    const gate = this.#gates.get(key) ?? deferred();
    this.#gates.set(key, gate);
    return gate;
  }

  #tell(method: string, args: Args): void {
    this.handled.push({ method, args });
  }
}

type TargetForEndpoint = ConstructorParameters<typeof RpcServer>[1] & object;

function big(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(Number(value));
}

const ERRORS: ReadonlyMap<string, (text: string) => Error> = new Map<string, (text: string) => Error>([
  ['TypeError', (text) => new TypeError(text)],
  ['RangeError', (text) => new RangeError(text)],
  ['Error', (text) => new Error(text)],
  ['PythonLibraryError', (text) => new PythonLibraryError(text)],
  ['OutOfStock', (text) => new OutOfStock(text)],
]);

/** A virtual host with Python peers and our sides on it. */
export class Live {
  readonly url: string;
  readonly rabbit: RabbitNode;
  readonly transport: Transport;
  readonly log: CapturedLog = new CapturedLog();
  readonly #peers: OsloPeer[] = [];
  readonly #servers: RpcServer[] = [];

  private constructor(rabbit: RabbitNode, url: string) {
    this.rabbit = rabbit;
    this.url = url;
    this.transport = createTransport(url, { drivers: [createRabbitDriver()], logger: this.log });
  }

  static async start(): Promise<Live> {
    const rabbit = await sharedRabbit();
    return new Live(rabbit, await rabbit.vhost());
  }

  async python(options: Parameters<typeof startOsloPeer>[1] = {}): Promise<OsloPeer> {
    const peer = await startOsloPeer(this.url, {
      defaults: { rpc_ping_enabled: true, rpc_response_timeout: 10 },
      allowedRemoteExmods: ['oslo_messaging.rpc.dispatcher', 'oslo_messaging.exceptions'],
      ...options,
    });
    this.#peers.push(peer);
    return peer;
  }

  /** A server of ours with the methods of {@link OurEndpoint}. */
  async serve(
    where: { topic: string; server: string },
    target: TargetForEndpoint,
    options: RpcServerOptions = {},
  ): Promise<{ server: RpcServer; endpoint: OurEndpoint }> {
    const endpoint = new OurEndpoint(this.transport, where.server, target);
    const server = new RpcServer(this.transport, where, [endpoint], {
      remoteErrors: pythonErrors(),
      ping: true,
      ...options,
    });
    this.#servers.push(server);
    await server.start();
    return { server, endpoint };
  }

  client(target: TargetOptions, options: RpcClientOptions = {}): RpcClient {
    return new RpcClient(this.transport, target, {
      timeoutMs: LIMIT_MS,
      remoteErrors: pythonErrors(),
      ...options,
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#peers.map((peer) => peer.kill()));
    await Promise.all(this.#servers.map((server) => server.stop()));
    await Promise.all(this.#servers.map((server) => server.wait({ timeoutMs: LIMIT_MS })));
    await this.transport.close();
  }
}

/** A call by a Python client. */
export function pythonCall(peer: OsloPeer, call: OsloCall): Promise<unknown> {
  return within(`${call.method} from Python`, LIMIT_MS, peer.send({ command: 'call', ...call }));
}

/** The exception with which a Python call ends. */
export async function pythonError(promise: Promise<unknown>): Promise<OsloError> {
  const error = await rejectionOf(promise);
  if (error instanceof OsloError) return error;
  throw error;
}
