import { AssertionError, deepEqual } from 'node:assert/strict';
import { setTimeout as clock } from 'node:timers/promises';
import {
  Deadline,
  type Destination,
  type DriverFeatures,
  type DriverStatus,
  type MaybePromise,
  secretId,
  type ServerSource,
  type Transport,
  type TransportOptions,
  within,
  type WireMessage,
} from '@ebbgate/core';
import { RpcClient, type RpcClientOptions, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import type { BrokerFaults } from './faults.js';
import { Gate } from './gate.js';
import { Inbox, type InboxHost, type Settling } from './inbox.js';
import { textMessage, toServer } from './test-message.js';

/** What a lab is made from. */
export interface LabParts {
  readonly features: DriverFeatures;
  readonly faults: BrokerFaults | undefined;
  /** Longest time for all waits of one test together, and again for its end. */
  readonly waitMs: number;
  createTransport(options: TransportOptions): MaybePromise<Transport>;
}

/** How a test sends. */
export interface SendParts {
  readonly mandatory?: boolean;
  readonly retry?: number;
  readonly timeoutMs?: number;
}

const FENCE = 'fence ';

/** What one test works with: names that nobody else has, transports that are closed at its end, and one deadline. */
export class Lab implements InboxHost {
  readonly features: DriverFeatures;
  readonly waitMs: number;
  readonly #parts: LabParts;
  readonly #id = secretId().slice(0, 12);
  readonly #deadline: Deadline;
  readonly #transports: Transport[] = [];
  readonly #undo: (() => MaybePromise<unknown>)[] = [];
  readonly #fences = new Map<string, () => void>();
  #names = 0;

  constructor(parts: LabParts) {
    this.#parts = parts;
    this.features = parts.features;
    this.waitMs = parts.waitMs;
    this.#deadline = Deadline.after(parts.waitMs);
  }

  /** A name that holds `stem` and that nobody else has. */
  name(stem: string): string {
    this.#names += 1;
    return `${stem}-${this.#id}-${String(this.#names)}`;
  }

  /** A place to listen at that nobody else has. */
  source(given: Partial<ServerSource> = {}): ServerSource {
    const {
      exchange = this.name('exchange'),
      topic = this.name('topic'),
      server = this.name('server'),
    } = given;
    return Object.freeze({ exchange, topic, server });
  }

  /** `work`, within the time of the test. */
  until<T>(work: Promise<T>, what: string): Promise<T> {
    const limit = { timeoutMs: this.#deadline.remainingMs };
    return within(
      work,
      limit,
      () => new AssertionError({ message: `Not within ${String(this.waitMs)} ms: ${what}` }),
    );
  }

  /** Takes the step again and again, until its outcome is the wanted one or the time of the test is over. */
  async repeat<T>(step: () => Promise<T>, wanted: (outcome: T) => boolean, what: string): Promise<void> {
    while (!wanted(await this.until(step(), what))) {
      if (this.#deadline.expired)
        throw new AssertionError({ message: `Not within ${String(this.waitMs)} ms: ${what}` });
    }
  }

  /** Lets the clock go on. For deadlines to pass, and for nothing else: events are waited for. */
  async clockPasses(ms: number): Promise<void> {
    await this.until(clock(ms), `${String(ms)} ms to pass`);
  }

  /** A transport that nobody has used yet. */
  async unconnected(options: TransportOptions = {}): Promise<Transport> {
    const transport = await this.#parts.createTransport({ sendTimeoutMs: this.waitMs, ...options });
    this.#transports.push(transport);
    return transport;
  }

  async transport(options: TransportOptions = {}): Promise<Transport> {
    const transport = await this.unconnected(options);
    await this.until(transport.connect(), 'connect()');
    return transport;
  }

  /** Two transports that meet at the broker: what one sends, the other must be able to receive. */
  async pair(): Promise<{ sender: Transport; receiver: Transport }> {
    return { sender: await this.transport(), receiver: await this.transport() };
  }

  async listen(
    transport: Transport,
    source: ServerSource,
    { credit = 100, settling = 'hold' }: { credit?: number; settling?: Settling } = {},
  ): Promise<Inbox> {
    const inbox = new Inbox(this, source, settling);
    inbox.listener = await this.until(transport.listen(source, { credit }, inbox.onDelivery), 'listen()');
    return inbox;
  }

  /** Makes a source known to the broker, with nobody listening. */
  async declare(transport: Transport, source: ServerSource): Promise<void> {
    const { listener } = await this.listen(transport, source);
    await this.until(listener.close(), 'close() of a listener');
  }

  /** Resolves when the broker has it. */
  async send(
    transport: Transport,
    destination: Destination,
    content: string | WireMessage,
    parts: SendParts = {},
  ): Promise<void> {
    const message = typeof content === 'string' ? textMessage(content) : content;
    const deadline = Deadline.after(parts.timeoutMs ?? this.#deadline.remainingMs);
    const options = {
      deadline,
      mandatory: parts.mandatory ?? destination.kind !== 'fanout',
      retry: parts.retry,
    };
    await this.until((async () => transport.publish(destination, message, options))(), 'publish()');
  }

  async sendAll(transport: Transport, destination: Destination, texts: readonly string[]): Promise<void> {
    await Promise.all(texts.map((text) => this.send(transport, destination, text)));
  }

  isFence(text: string): boolean {
    if (!text.startsWith(FENCE)) return false;
    this.#fences.get(text)?.();
    return true;
  }

  /** Goes to the broker and back through that inbox: what was on its way there before has arrived after it. */
  async fence(transport: Transport, source: ServerSource): Promise<void> {
    const text = `${FENCE}${this.name('')}`;
    const passed = new Promise<void>((resolve) => this.#fences.set(text, resolve));
    await this.send(transport, toServer(source), text);
    await this.until(passed, 'a message to the broker and back');
  }

  /** Some ways to the broker and back on that transport, for what must not happen meanwhile. */
  async roundTrips(transport: Transport): Promise<void> {
    const { source, listener } = await this.listen(transport, this.source(), { credit: 1 });
    for (let times = 0; times < 3; times += 1) await this.fence(transport, source);
    await this.until(listener.close(), 'close() of a listener');
  }

  /** The inboxes together receive these texts, each once, and nothing else. */
  async expectOnce(transport: Transport, inboxes: readonly Inbox[], texts: readonly string[]): Promise<void> {
    const count = (): number => inboxes.reduce((sum, { received }) => sum + received.length, 0);
    while (count() < texts.length) {
      await Promise.race(
        inboxes.map((inbox) =>
          inbox.arrival(`${String(texts.length)} deliveries (${String(count())} have arrived)`),
        ),
      );
    }
    for (const { source } of inboxes) await this.fence(transport, source);
    deepEqual(inboxes.flatMap((inbox) => inbox.texts).sort(), [...texts].sort());
  }

  async serve(
    transport: Transport,
    target: ServerSource,
    endpoint: object,
    options: RpcServerOptions = {},
  ): Promise<RpcServer> {
    const server = new RpcServer(transport, target, [endpoint], options);
    this.onEnd(() => server.stop());
    await this.until(server.start(), 'start() of a server');
    return server;
  }

  /** A client whose calls are bounded by the time of the test. */
  client(transport: Transport, { exchange, topic }: ServerSource, options: RpcClientOptions = {}): RpcClient {
    return new RpcClient(transport, { exchange, topic }, { timeoutMs: this.waitMs, ...options });
  }

  /** Resolves when the transport says so of itself. Looked at whenever it tells a change. */
  async statusOf(
    transport: Transport,
    wanted: (status: DriverStatus) => boolean,
    what: string,
  ): Promise<void> {
    const reached = new Gate();
    const look = (): void => {
      if (wanted(transport.status())) reached.open();
    };
    const deaf = [transport.events.on('connection', look), transport.events.on('listener', look)];
    look();
    try {
      await this.until(reached.opened, `status: ${what}`);
    } finally {
      for (const end of deaf) end();
    }
  }

  /** Every listener of the transport is confirmed by the broker. */
  subscribed(transport: Transport): Promise<void> {
    return this.statusOf(
      transport,
      ({ connection, listeners }) =>
        connection === 'connected' && listeners.every(({ subscribed }) => subscribed),
      'all listeners subscribed',
    );
  }

  /** Cuts all connections; resolves when these transports have noticed. */
  async cut(...transports: readonly Transport[]): Promise<void> {
    const { faults } = this;
    this.onEnd(() => faults.restore());
    await faults.cut();
    for (const each of transports)
      await this.statusOf(each, ({ connection }) => connection !== 'connected', 'disconnected');
  }

  /** Lets connections come up; resolves when these transports have theirs. */
  async restore(...transports: readonly Transport[]): Promise<void> {
    await this.faults.restore();
    for (const each of transports)
      await this.statusOf(each, ({ connection }) => connection === 'connected', 'connected');
  }

  async stall(): Promise<void> {
    this.onEnd(() => this.faults.resume?.());
    await this.faults.stall?.();
  }

  async resume(): Promise<void> {
    await this.faults.resume?.();
  }

  get faults(): BrokerFaults {
    if (this.#parts.faults) return this.#parts.faults;
    throw new AssertionError({ message: 'unreachable: tests that need faults are skipped without' });
  }

  /** Runs at the end of the test, the last one first. */
  onEnd(undo: () => MaybePromise<unknown>): void {
    this.#undo.push(undo);
  }

  /** Undoes all that the test has done. */
  async end(): Promise<void> {
    const limit = { timeoutMs: this.waitMs };
    const late = (): Error =>
      new AssertionError({ message: `The end of the test took more than ${String(this.waitMs)} ms` });
    for (const undo of this.#undo.reverse()) await within((async () => undo())(), limit, late);
    await within(Promise.all(this.#transports.map((each) => each.close())), limit, late);
  }
}
