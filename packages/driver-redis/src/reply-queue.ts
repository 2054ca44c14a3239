import {
  AuthenticationError,
  type DriverEvents,
  type Logger,
  type ReplyQueue,
  RetryPause,
  secretId,
  TimerEntry,
  timers,
  type WireMessage,
  within,
} from '@ebbgate/core';
import { readEntry } from './entry.js';
import type { Keys, ReplyKeys } from './keys.js';
import { openClient } from './open-client.js';
import type { RedisSettings } from './options.js';
import { KEEP_REPLIES, READ_REPLIES } from './reply-scripts.js';
import { SignReader } from './sign-reader.js';
import type { StoreClient } from './store-client.js';
import { closedError, type ConnectionUser, type StoreConnection } from './store-connection.js';
import { asStoreError } from './store-errors.js';

const CLOSE_MS = 3_000;
/** So many replies are fetched at once at most: they are handed over at once, and need no credit. */
const FETCH = 256;
/** What comes in one answer is enough at so many bytes. */
const FETCH_BYTES = 1024 * 1024;
/** What was read last is removed with the next read, or so much later when none comes. */
const REMOVE_WITHIN_MS = 50;

/** What a reply queue is made of. */
export interface ReplyQueueParts {
  readonly connection: StoreConnection;
  readonly settings: RedisSettings;
  readonly keys: Keys;
  readonly events: DriverEvents;
  readonly logger: Logger;
  readonly onReply: (message: WireMessage) => void;
  readonly onClosed: () => void;
}

/**
 * The list at which a process gets its replies: one name as long as the process lives. What was read stays until the next read
 * removes it, so no loss of a connection loses a reply; and what then comes again is known, so none comes twice.
 */
export class RedisReplyQueue implements ReplyQueue, ConnectionUser {
  readonly address: string = `reply_${secretId()}`;
  readonly #parts: ReplyQueueParts;
  readonly #keys: ReplyKeys;
  /** What a read touches. */
  readonly #readKeys: readonly string[];
  readonly #abort = new AbortController();
  readonly #pause: RetryPause;
  readonly #removal: Removal;
  /** Of this connection: the store gives nothing to those before. */
  #times = 0;
  /** Since the list was made; those removed count. */
  #received = 0;
  /** Received, and not known to be removed. */
  #last: readonly Buffer[] = [];
  /** Of these, what may come again after the loss of a connection; in this order, and before all others. */
  #again: Buffer[] = [];
  #reader: StoreClient | undefined;
  #reading: Promise<void> | undefined;
  #keptAtMs = 0;
  #first: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  constructor(parts: ReplyQueueParts) {
    this.#parts = parts;
    this.#keys = parts.keys.ofReplies(this.address);
    const { state, list, bell, declared } = this.#keys;
    this.#readKeys = [state, list, bell, declared];
    this.#pause = new RetryPause(parts.settings);
    this.#removal = new Removal(() => void this.#remove());
    parts.connection.users.add(this);
  }

  /** Resolves when replies can arrive; rejects when they never will: no permission. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#first = { resolve, reject };
      this.#pursue();
    });
  }

  onUp(): void {
    this.#pursue();
  }

  onDown(cause: Error): void {
    this.#reader?.end(cause);
  }

  async close(): Promise<void> {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#parts.connection.users.delete(this);
    this.#parts.onClosed();
    this.#first?.reject(closedError());
    this.#reader?.end(undefined);
    this.#removal.end();
    const { client } = this.#parts.connection;
    if (!client) return;
    const { list, bell, declared, state } = this.#keys;
    const removal = client.call('del', [declared, list, bell, state]);
    await within(removal, { timeoutMs: CLOSE_MS }, () => new Error('late')).catch(() => undefined); // it expires
  }

  #pursue(): void {
    const { client } = this.#parts.connection;
    if (this.#abort.signal.aborted || this.#reading || !client) return;
    this.#reading = this.#readWhileUp(client).finally(() => {
      this.#reading = undefined;
      this.#pursue();
    });
  }

  /** Never rejects. */
  async #readWhileUp(client: StoreClient): Promise<void> {
    const { connection, settings } = this.#parts;
    try {
      this.#times += 1;
      await this.#keep(client, this.#name);
      this.#reader = await openClient(settings, client.hosts, 'reader', this.#abort.signal);
      this.#pause.succeeded();
      this.#first?.resolve();
      this.#first = undefined;
      const signs = new SignReader(this.#reader, [this.#keys.bell], settings.heartbeatMs);
      while (!this.#reader.isLost) await this.#readOnce(client, signs);
    } catch (error) {
      if (this.#abort.signal.aborted || connection.client !== client) return;
      this.#failed(asStoreError(error, 'Cannot read the replies'));
      await this.#pause.wait(this.#abort.signal);
    } finally {
      this.#reader?.end(undefined);
    }
  }

  get #name(): string {
    return String(this.#times);
  }

  async #readOnce(client: StoreClient, signs: SignReader): Promise<void> {
    const args = [this.#name, this.#received, FETCH, FETCH_BYTES];
    const reply = await signs.read(READ_REPLIES, this.#readKeys, args);
    if (!reply) {
      await this.#keep(client, this.#name); // it is gone
      return;
    }
    const entries = reply.slice(1) as Buffer[];
    this.#received = Number(reply[0]) + entries.length;
    this.#last = entries;
    for (const entry of entries) if (!this.#isKnown(entry)) this.#take(entry);
    if (entries.length > 0) this.#removal.due();
    const { privateTtlMs } = this.#parts.settings;
    if (performance.now() - this.#keptAtMs > privateTtlMs / 3) await this.#keep(client, '');
  }

  /** @param newReader - from now on nobody else is given anything; empty: who reads, reads on */
  async #keep(client: StoreClient, newReader: string): Promise<void> {
    if (newReader !== '') this.#again = [...this.#last];
    const life = Math.ceil(this.#parts.settings.privateTtlMs);
    const { declared, state, list, bell } = this.#keys;
    const reply = await client.run(KEEP_REPLIES, [declared, state, list, bell], [life, newReader]);
    const [made, removed] = reply as readonly [number, number]; // as the script gives it
    this.#keptAtMs = performance.now();
    if (newReader !== '') this.#received = removed;
    if (made === 1 && this.#first === undefined)
      this.#parts.logger.warn({ address: this.address }, 'The replies were missing; they were made again');
  }

  /** So that no more of them is kept than must be; what it misses goes with the next read, or with all of it. */
  async #remove(): Promise<void> {
    const args = [this.#name, this.#received, 0, 0];
    await this.#parts.connection.client?.run(READ_REPLIES, this.#readKeys, args).catch(() => undefined);
  }

  /** Whoever waits for the first read is told what will not change; all else is tried again. */
  #failed(failure: Error): void {
    if (this.#first && failure instanceof AuthenticationError) {
      this.#first.reject(failure);
      this.#first = undefined;
    } else this.#parts.events.error(failure);
  }

  /** What comes again comes first: so with the first that was not there before, there is no more of it. */
  #isKnown(entry: Buffer): boolean {
    if (this.#again.length === 0) return false;
    const place = this.#again.findIndex((one) => one.equals(entry));
    this.#again = place === -1 ? [] : this.#again.slice(place + 1);
    return place !== -1;
  }

  #take(entry: Buffer): void {
    const { message } = readEntry(entry, this.#parts.connection.clock);
    if (!this.#abort.signal.aborted) this.#parts.onReply(message);
  }
}

/** Comes so long after something was read, once. */
class Removal extends TimerEntry {
  readonly #work: () => void;
  #isDue = false;

  constructor(work: () => void) {
    super();
    this.#work = work;
  }

  due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    timers.add(this, REMOVE_WITHIN_MS);
  }

  end(): void {
    timers.remove(this);
  }

  override onTime(): void {
    this.#isDue = false;
    this.#work();
  }
}
