import { randomUUID } from 'node:crypto';
import {
  createTransport,
  type DroppedMessage,
  memoryFaults,
  type MemoryFaults,
  type TargetOptions,
  timers,
  type Transport,
  type TransportOptions,
  TransportUrl,
} from '@ebbgate/core';
import {
  type NotificationEndpoint,
  NotificationListener,
  type NotificationListenerOptions,
  Notifier,
  type NotifierOptions,
  type Priority,
  type ReceivedNotification,
} from '@ebbgate/notify';
import { expect } from 'chai';
import { afterEach, beforeEach } from 'mocha';
import { bytesDriver } from './bytes-driver.js';
import { CapturedLog } from './captured-log.js';
import type { Form } from './rpc-bed.js';

type SingleOptions = NotificationListenerOptions & { readonly batch?: undefined };

/** An endpoint that keeps what it is given. */
export class Collecting {
  readonly seen: ReceivedNotification[] = [];
  readonly endpoint: NotificationEndpoint;

  /** @param result - what it returns, or does with a notification */
  constructor(
    priorities: readonly Priority[] = ['info'],
    result: (notification: ReceivedNotification) => unknown = () => undefined,
  ) {
    const handle = (_context: unknown, notification: ReceivedNotification): unknown => {
      this.seen.push(notification);
      return result(notification);
    };
    this.endpoint = Object.fromEntries(priorities.map((priority) => [priority, handle]));
  }

  get payloads(): unknown[] {
    return this.seen.map(({ payload }) => payload);
  }
}

/** A broker of its own with notifiers and listeners on it, and the check that they leave nothing behind. */
export class NotifyBed {
  readonly url: string;
  readonly log: CapturedLog = new CapturedLog();
  readonly dropped: DroppedMessage[] = [];
  readonly errors: Error[] = [];
  readonly transport: Transport;
  readonly #form: Form;
  readonly #transports: Transport[] = [];
  readonly #listeners: NotificationListener[] = [];

  constructor(form: Form, query = '') {
    this.#form = form;
    this.url = `memory://${randomUUID()}/${query}`;
    this.transport = this.newTransport();
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

  notifier(options: NotifierOptions = {}): Notifier {
    return new Notifier(this.transport, { publisherId: 'compute.host1', ...options });
  }

  /** A listener that listens. */
  async listen(
    endpoints: readonly NotificationEndpoint[],
    options: SingleOptions = {},
    targets: readonly TargetOptions[] = [{ topic: 'notifications' }],
  ): Promise<NotificationListener> {
    return this.start(new NotificationListener(this.transport, targets, endpoints, options));
  }

  async start(listener: NotificationListener): Promise<NotificationListener> {
    this.#listeners.push(listener);
    await listener.start();
    return listener;
  }

  /** Ends everything, and checks that nothing is left. */
  async close(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.stop()));
    await Promise.all(this.#listeners.map((listener) => listener.wait({ timeoutMs: 2000 })));
    await Promise.all(this.#transports.map((transport) => transport.close()));
    expect(timers.size, 'timers that are left').to.equal(0);
  }
}

/** A fresh bed for each test of the suite around, closed and checked after it. */
export function useNotifyBed(form: Form = 'objects'): () => NotifyBed {
  let bed: NotifyBed;
  beforeEach(() => {
    bed = new NotifyBed(form);
  });
  afterEach(() => bed.close());
  return () => bed;
}
