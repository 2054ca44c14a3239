import { AssertionError, deepEqual } from 'node:assert/strict';
import { setTimeout as clock } from 'node:timers/promises';
import {
  Deadline,
  type Destination,
  type DriverFeatures,
  type MaybePromise,
  secretId,
  type ServerSource,
  type Source,
  type Transport,
  type TransportOptions,
  within,
  type WireMessage,
} from '@ebbgate/core';
import { RpcClient, type RpcClientOptions, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import type { BrokerFaults } from './faults.js';
import { Inbox, type InboxHost, type Settling } from './inbox.js';
import type { LabParts, SendParts } from './lab-parts.js';
import { later } from './later.js';
import { Ledger } from './ledger.js';
import { Link } from './link.js';
import { Patience, PatientClient, type TestClient } from './patience.js';
import { textMessage, textOf, toServer } from './test-message.js';

const FENCE = 'fence ';
/** So long a test waits in the end for copies that it should not get. */
const COPIES_MS = 200;

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
  readonly #link: Link;
  readonly #patience: Patience;
  readonly #ledger: Ledger | undefined;
  readonly #sources: { readonly transport: Transport; readonly source: ServerSource }[] = [];
  #names = 0;
  #ended = false;

  constructor(parts: LabParts) {
    this.#parts = parts;
    this.features = parts.features;
    this.waitMs = parts.waitMs;
    this.#deadline = Deadline.after(parts.waitMs);
    this.#link = new Link(this, parts.faults, parts.unsteady);
    this.#patience = new Patience(this.#deadline);
    this.#ledger = parts.unsteady ? new Ledger(parts.features.redelivered) : undefined;
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
    this.#link.watch(transport);
    this.#transports.push(transport);
    if (this.#ended) await transport.close();
    this.#checkGoesOn();
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
    source: Source,
    { credit = 100, settling = 'hold' }: { credit?: number; settling?: Settling } = {},
  ): Promise<Inbox> {
    const server = 'topics' in source ? undefined : source;
    const inbox = new Inbox(this, server, settling, this.#ledger);
    inbox.listener = await this.until(transport.listen(source, { credit }, inbox.onDelivery), 'listen()');
    if (server) this.#sources.push({ transport, source: server });
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
    const publish = (): Promise<void> =>
      this.until((async () => transport.publish(destination, message, options))(), 'publish()');
    const attempt = this.#ledger?.recorded(textOf(message), destination, publish) ?? publish;
    await (this.#ledger && parts.patient !== false ? this.#patience.persist(attempt) : attempt());
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
    const seen = (): string[] => {
      const all = inboxes.flatMap((inbox) => inbox.texts);
      return this.#ledger ? [...new Set(all)] : all; // which counts what is too much by itself
    };
    for (let count = seen().length; count < texts.length; count = seen().length) {
      const what = `${String(texts.length)} deliveries (${String(count)} have arrived)`;
      await Promise.race(inboxes.map((inbox) => inbox.arrival(what)));
    }
    for (const { source } of inboxes) await this.fence(transport, source);
    deepEqual(seen().sort(), [...texts].sort());
    this.#ledger?.check();
  }

  /** On an unsteady link, once a connection was lost: what was on its way then may have been brought, and come again. */
  get mayComeAgain(): boolean {
    return this.#ledger !== undefined && this.#link.wasLost;
  }

  /** Requests of unknown outcome that were sent again: so many may run twice. */
  get doubts(): number {
    return this.#patience.doubts;
  }

  /** More than one copy of it may be at the broker, for the same reason. */
  mayBeTwice(text: string): boolean {
    return this.#ledger?.mayBeTwice(text) ?? false;
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

  /** A client whose calls are bounded by the time of the test; on an unsteady link it sends again. */
  client(transport: Transport, source: ServerSource, options: RpcClientOptions = {}): TestClient {
    const client = this.impatientClient(transport, source, options);
    return this.#ledger ? new PatientClient(client, this.#patience) : client;
  }

  /** A client that fails as it must, on an unsteady link too. */
  impatientClient(
    transport: Transport,
    { exchange, topic }: ServerSource,
    options: RpcClientOptions = {},
  ): RpcClient {
    return new RpcClient(transport, { exchange, topic }, { timeoutMs: this.waitMs, ...options });
  }

  /** Every listener of the transport is confirmed by the broker. */
  subscribed(transport: Transport): Promise<void> {
    return this.#link.subscribed(transport);
  }

  /** Cuts all connections; resolves when these transports have noticed. */
  cut(...transports: readonly Transport[]): Promise<void> {
    return this.#link.cut(transports);
  }

  /** Lets connections come up; resolves when these transports have theirs. */
  restore(...transports: readonly Transport[]): Promise<void> {
    return this.#link.restore(transports);
  }

  stall(): Promise<void> {
    return this.#link.stall();
  }

  resume(): Promise<void> {
    return this.#link.resume();
  }

  get faults(): BrokerFaults {
    this.#checkGoesOn();
    return this.#link.faults;
  }

  /** Resolves when one of its transports has told that its connection is lost. */
  get linkLost(): Promise<void> {
    return this.#link.lost;
  }

  /** Runs at the end of the test, the last one first. */
  onEnd(undo: () => MaybePromise<unknown>): void {
    this.#checkGoesOn();
    this.#undo.push(undo);
  }

  /** The test has passed. Where a send had failed, more copies than there may be would be on their way now. */
  async passed(): Promise<void> {
    if (!this.#ledger?.hasFailed) return;
    const fences = this.#sources.map(({ transport, source }) => later(this.fence(transport, source)));
    await Promise.race([Promise.allSettled(fences), clock(COPIES_MS)]); // not every inbox has room left, or listens
  }

  /** Undoes all that the test has done. */
  async end(): Promise<void> {
    this.#ended = true;
    const limit = { timeoutMs: this.waitMs };
    const late = (): Error =>
      new AssertionError({ message: `The end of the test took more than ${String(this.waitMs)} ms` });
    for (const undo of this.#undo.reverse()) await within((async () => undo())(), limit, late);
    await within(Promise.all(this.#transports.map((each) => each.close())), limit, late);
    this.#ledger?.check();
  }

  /** A test that was given up must do nothing any more that nobody would undo. */
  #checkGoesOn(): void {
    if (this.#ended) throw new AssertionError({ message: 'the test was given up meanwhile' });
  }
}
