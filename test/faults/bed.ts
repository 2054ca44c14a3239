import {
  createTransport,
  Deadline,
  type Delivery,
  type Destination,
  type DriverFactory,
  type Listener,
  MessagingError,
  type ServerSource,
  type Transport,
  type TransportOptions,
  type WireMessage,
} from '@ebbgate/core';
import { createRabbitDriver, type RabbitOptions } from '@ebbgate/driver-amqp';
import { RpcClient, type RpcClientOptions, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import { textMessage, textOf } from '#testkit/test-message.js';
import { CapturedLog } from '../support/captured-log.js';
import { rejectionOf } from '../support/deferred.js';

/** Short waits, so that a link that was cut is back soon. */
export const FAST: RabbitOptions = Object.freeze({
  kombu_reconnect_delay: 0.05,
  connect_timeout: 2,
  rabbit_interval_max: 1,
});

let names = 0;

/** A name that no other test has. */
export function fresh(stem: string): string {
  names += 1;
  return `${stem}-${String(process.pid)}-${String(names)}`;
}

export function source(given: Partial<ServerSource> = {}): ServerSource {
  return { exchange: fresh('exchange'), topic: fresh('topic'), server: fresh('server'), ...given };
}

export const toTopic = ({ exchange, topic }: ServerSource): Destination => ({
  kind: 'topic',
  exchange,
  topic,
});
export const toServer = (where: ServerSource): Destination => ({ kind: 'server', ...where });
export const toFanout = ({ exchange, topic }: ServerSource): Destination => ({
  kind: 'fanout',
  exchange,
  topic,
});

/** How a test sends; by default mandatory, within five seconds. */
export interface Sending {
  readonly mandatory?: boolean;
  readonly retry?: number;
  readonly timeoutMs?: number;
}

/** Sends a text, or a message; settles as the transport's publish does. */
export async function send(
  transport: Transport,
  to: Destination,
  what: string | WireMessage,
  { mandatory = to.kind !== 'fanout', retry, timeoutMs = 5_000 }: Sending = {},
): Promise<void> {
  const message = typeof what === 'string' ? textMessage(what) : what;
  await transport.publish(to, message, { mandatory, retry, deadline: Deadline.after(timeoutMs) });
}

/** What has arrived at a listener, the texts of it, and the listener. */
export interface Heard {
  readonly listener: Listener;
  readonly deliveries: Delivery[];
  readonly texts: string[];
}

/** What a promise rejects with: an error of the documented family (AMQP-20). */
export async function failure(work: Promise<unknown>): Promise<MessagingError> {
  const error: unknown = await rejectionOf(work);
  if (error instanceof MessagingError) return error;
  throw new TypeError('What was rejected with is none of ours', { cause: error });
}

/** What one test of a driver works with, and what it has to undo. */
export class DriverBed<Options extends object> {
  readonly log = new CapturedLog();
  readonly #driverOf: (options: Partial<Options>) => DriverFactory;
  readonly #undo: (() => unknown)[] = [];

  /** @param driverOf - makes the driver from what a test wants otherwise than others do */
  constructor(driverOf: (options: Partial<Options>) => DriverFactory) {
    this.#driverOf = driverOf;
  }

  /** A transport with a log, whose connection need not be there. */
  transport(url: string, driver: Partial<Options> = {}, options: TransportOptions = {}): Transport {
    const transport = createTransport(url, {
      drivers: [this.#driverOf(driver)],
      logger: this.log,
      sendTimeoutMs: 10_000,
      ...options,
    });
    this.#undo.push(() => transport.close());
    return transport;
  }

  async connected(
    url: string,
    driver: Partial<Options> = {},
    options: TransportOptions = {},
  ): Promise<Transport> {
    const transport = this.transport(url, driver, options);
    await transport.connect();
    return transport;
  }

  async listen(transport: Transport, where: ServerSource, accept = true, credit = 10): Promise<Heard> {
    const deliveries: Delivery[] = [];
    const texts: string[] = [];
    const listener = await transport.listen(where, { credit }, (delivery) => {
      deliveries.push(delivery);
      texts.push(textOf(delivery.message));
      if (accept) void delivery.accept();
    });
    return { listener, deliveries, texts };
  }

  async serve(
    transport: Transport,
    where: ServerSource,
    endpoint: object,
    options: RpcServerOptions = {},
  ): Promise<RpcServer> {
    const server = new RpcServer(transport, where, [endpoint], options);
    await server.start();
    return server;
  }

  client(transport: Transport, { exchange, topic }: ServerSource, options: RpcClientOptions = {}): RpcClient {
    return new RpcClient(transport, { exchange, topic }, { timeoutMs: 8_000, ...options });
  }

  /** Runs at the end of the test, the last one first. */
  onEnd(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  async end(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
  }
}

/** The same with the RabbitMQ driver. */
export class Bed extends DriverBed<RabbitOptions> {
  constructor() {
    super((options) => createRabbitDriver({ ...FAST, ...options }));
  }
}
