import { randomUUID } from 'node:crypto';
import {
  createTransport,
  type DriverFactory,
  type DroppedMessage,
  type MemoryFaults,
  memoryFaults,
  type TargetOptions,
  timers,
  type Transport,
  type TransportOptions,
  TransportUrl,
} from '@ebbgate/core';
import { RpcClient, type RpcClientOptions, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import { replyWaiters } from '#rpc/reply-waiters.js';
import { expect } from 'chai';
import { afterEach, beforeEach } from 'mocha';
import { bytesDriver } from './bytes-driver.js';
import { CapturedLog } from './captured-log.js';

/** As messages are inside of a process, or as they are once they have been through a wire. */
export type Form = 'objects' | 'bytes';

export const FORMS: readonly Form[] = ['objects', 'bytes'];

/** Put into arguments, results and contexts: no ordinary log line may hold it (RPC-08). */
export const MARKER = 'payload-marker-5f3ac1';

export const TOPIC = 'compute';
export const SERVER = 'host-1';

/** A broker of its own with clients and servers on it, and the check that they leave nothing behind. */
export class RpcBed {
  readonly url: string;
  readonly log: CapturedLog = new CapturedLog();
  readonly dropped: DroppedMessage[] = [];
  readonly errors: Error[] = [];
  readonly transport: Transport;
  readonly #form: Form;
  readonly #transports: Transport[] = [];
  readonly #servers: RpcServer[] = [];

  constructor(form: Form = 'objects', drivers?: readonly DriverFactory[]) {
    this.#form = form;
    this.url = `memory://${randomUUID()}/`;
    this.transport = this.newTransport(drivers && { drivers });
  }

  get faults(): MemoryFaults {
    return memoryFaults(TransportUrl.parse(this.url));
  }

  newTransport(options: TransportOptions = {}): Transport {
    const drivers = this.#form === 'bytes' ? [bytesDriver()] : [];
    const transport = createTransport(this.url, { drivers, logger: this.log, ...options });
    transport.events.on('dropped', (dropped) => this.dropped.push(dropped));
    transport.events.on('error', (error) => this.errors.push(error));
    this.#transports.push(transport);
    return transport;
  }

  /** A server that is made and not started. */
  newServer(
    endpoints: object | readonly object[],
    options: RpcServerOptions = {},
    target: TargetOptions = {},
    transport: Transport = this.transport,
  ): RpcServer {
    const list = Array.isArray(endpoints) ? (endpoints as readonly object[]) : [endpoints];
    const server = new RpcServer(transport, { topic: TOPIC, server: SERVER, ...target }, list, options);
    this.#servers.push(server);
    return server;
  }

  /** A server that listens. */
  async serve(...args: Parameters<RpcBed['newServer']>): Promise<RpcServer> {
    const server = this.newServer(...args);
    await server.start();
    return server;
  }

  client(options: RpcClientOptions = {}, target: TargetOptions = {}, transport = this.transport): RpcClient {
    return new RpcClient(transport, { topic: TOPIC, ...target }, options);
  }

  get pending(): number {
    return this.#transports.reduce((sum, transport) => sum + replyWaiters(transport).pending, 0);
  }

  /** Ends everything, and checks that nothing is left and that no log line told a payload. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    await Promise.all(this.#servers.map((server) => server.wait({ timeoutMs: 2000 })));
    await Promise.all(this.#transports.map((transport) => transport.close()));
    expect(this.pending, 'calls that still wait').to.equal(0);
    expect(timers.size, 'timers that are left').to.equal(0);
    expect(this.log.ordinaryText()).to.not.contain(MARKER);
  }
}

/** A fresh bed for each test of the suite around, closed and checked after it. */
export function useBed(form: Form = 'objects', drivers?: () => readonly DriverFactory[]): () => RpcBed {
  let bed: RpcBed;
  beforeEach(() => {
    bed = new RpcBed(form, drivers?.());
  });
  afterEach(() => bed.close());
  return () => bed;
}
