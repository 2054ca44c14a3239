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
import { type Entry, readEntry, readStreams } from './entry.js';
import { GROUP, type Keys } from './keys.js';
import { openClient } from './open-client.js';
import type { RedisSettings } from './options.js';
import { KEEP_REPLIES } from './scripts.js';
import type { StoreClient } from './store-client.js';
import { closedError, type ConnectionUser, type StoreConnection } from './store-connection.js';
import { asStoreError } from './store-errors.js';

const CLOSE_MS = 3_000;
/** So many replies are fetched at once at most: they are handed over at once, and need no credit. */
const FETCH = 256;
/** Before the first entry of a stream. */
const BEGINNING = '0-0';

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
 * The stream at which a process gets its replies: one name as long as the process lives. It is read from where it was read to,
 * so that no loss of a connection loses a reply, or brings one twice.
 */
export class RedisReplyQueue implements ReplyQueue, ConnectionUser {
  readonly address: string = `reply_${secretId()}`;
  readonly #parts: ReplyQueueParts;
  readonly #key: string;
  readonly #abort = new AbortController();
  readonly #pause: RetryPause;
  readonly #trim: ReplyTrim;
  #last = BEGINNING;
  #reader: StoreClient | undefined;
  #reading: Promise<void> | undefined;
  #keptAtMs = 0;
  #first: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  constructor(parts: ReplyQueueParts) {
    this.#parts = parts;
    this.#key = parts.keys.ofReplies(this.address);
    this.#pause = new RetryPause(parts.settings);
    this.#trim = new ReplyTrim(parts.connection, this.#key);
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
    this.#trim.end();
    const { client } = this.#parts.connection;
    if (!client) return;
    const removal = client.call('del', [this.#key]);
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
      await this.#keep(client);
      this.#reader = await openClient(settings, client.hosts, 'reader', this.#abort.signal);
      this.#pause.succeeded();
      this.#first?.resolve();
      this.#first = undefined;
      while (!this.#reader.isLost) await this.#readOnce(client, this.#reader);
    } catch (error) {
      if (this.#abort.signal.aborted || connection.client !== client) return;
      this.#failed(asStoreError(error, 'Cannot read the replies'));
      await this.#pause.wait(this.#abort.signal);
    } finally {
      this.#reader?.end(undefined);
    }
  }

  async #readOnce(client: StoreClient, reader: StoreClient): Promise<void> {
    const { heartbeatMs, privateTtlMs } = this.#parts.settings;
    const wait = Math.ceil(heartbeatMs);
    const reply = await reader.call('xread', [
      'COUNT',
      FETCH,
      'BLOCK',
      wait,
      'STREAMS',
      this.#key,
      this.#last,
    ]);
    const entries = readStreams(reply).flatMap(([, some]) => some);
    for (const entry of entries) this.#take(entry);
    if (entries.length > 0) this.#trim.upTo(this.#last, entries.length);
    // A stream that is missing is waited for like an empty one: so an idle reader looks whether it is there.
    const isStale = performance.now() - this.#keptAtMs > privateTtlMs / 3;
    if (entries.length === 0 || isStale) await this.#keep(client);
  }

  async #keep(client: StoreClient): Promise<void> {
    const life = Math.ceil(this.#parts.settings.privateTtlMs);
    const made = await client.run(KEEP_REPLIES, [this.#key], [GROUP, life]);
    this.#keptAtMs = performance.now();
    if (made !== 1) return;
    if (this.#last !== BEGINNING)
      this.#parts.logger.warn(
        { address: this.address },
        'The stream of replies was missing; it was made again',
      );
    this.#last = BEGINNING; // ids of another stream
  }

  /** Whoever waits for the first read is told what will not change; all else is tried again. */
  #failed(failure: Error): void {
    if (this.#first && failure instanceof AuthenticationError) {
      this.#first.reject(failure);
      this.#first = undefined;
    } else this.#parts.events.error(failure);
  }

  #take(entry: Entry): void {
    this.#last = entry.id;
    const { message } = readEntry(entry, this.#parts.connection.clock);
    if (!this.#abort.signal.aborted) this.#parts.onReply(message);
  }
}

/** Replies are removed after so many, or after so long. */
const TRIM_AFTER = 64;
const TRIM_WITHIN_MS = 50;

/** Removes what was read, many entries by one command. What it misses goes with the next, or with the stream. */
class ReplyTrim extends TimerEntry {
  readonly #connection: StoreConnection;
  readonly #key: string;
  #last = BEGINNING;
  #count = 0;

  constructor(connection: StoreConnection, key: string) {
    super();
    this.#connection = connection;
    this.#key = key;
  }

  upTo(id: string, count: number): void {
    this.#last = id;
    if (this.#count === 0) timers.add(this, TRIM_WITHIN_MS);
    this.#count += count;
    if (this.#count >= TRIM_AFTER) this.#trim();
  }

  end(): void {
    timers.remove(this);
  }

  override onTime(): void {
    this.#trim();
  }

  #trim(): void {
    timers.remove(this);
    this.#count = 0;
    const [ms, count] = this.#last.split('-');
    const next = `${ms ?? '0'}-${String(BigInt(count ?? '0') + 1n)}`;
    void this.#connection.client?.call('xtrim', [this.#key, 'MINID', next]).catch(() => undefined); // with the next one
  }
}
