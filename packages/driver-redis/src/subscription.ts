import type { Logger, MaybePromise } from '@ebbgate/core';
import { RedisDelivery, type Settling } from './delivery.js';
import { type Entry, isWakeUp, readEntry, readStreams } from './entry.js';
import { GROUP } from './keys.js';
import type { RedisSettings } from './options.js';
import { RENEW, RETIRE, SUBSCRIBE, WAKE } from './scripts.js';
import { Settler } from './settler.js';
import { SHARED_STREAMS, type SourceKeys } from './source-keys.js';
import type { Argument, StoreClient } from './store-client.js';
import type { StoreConnection } from './store-connection.js';

/** What a subscription tells its listener. */
export interface SubscriptionHooks {
  onDelivery(delivery: RedisDelivery): void;
  /** It is of no use any more. Told once, not after `close`. */
  onLost(cause: Error): void;
}

/** What a subscription is made of. */
export interface SubscriptionParts {
  readonly connection: StoreConnection;
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly keys: SourceKeys;
  /** Of the listener, and of this subscription alone. */
  readonly listener: string;
  readonly consumer: string;
  /** Most deliveries handed over and not settled. */
  readonly credit: number;
  readonly hooks: SubscriptionHooks;
}

/** One try at reading: a consumer of the groups, its own connection, and what they have brought and is not settled. */
export class Subscription implements Settling {
  readonly #parts: SubscriptionParts;
  readonly #settler: Settler;
  /** Handed over and not settled: never more than the credit. */
  readonly #held = new Set<RedisDelivery>();
  /** Fetched beyond it, of this server's own streams: each stream is asked for as many as there is room for. */
  #kept: RedisDelivery[] = [];
  #reader: StoreClient | undefined;
  #reading: Promise<void> | undefined;
  #wanted = false;
  /** Something was given back: that is read by itself until there is none, or it would push aside what is behind it. */
  #backFirst = false;
  #onRoom: (() => void) | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #leaseUntilMs = 0;
  #ended = false;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
    const { connection, settings, keys, consumer } = parts;
    this.#settler = new Settler({
      connection,
      keys: [keys.leases, ...keys.streams],
      consumer,
      acceptance: settings.acceptance,
      leaseHolds: () => !this.#ended && performance.now() < this.#leaseUntilMs,
    });
  }

  /** When it resolves a message sent by anyone arrives here, once it is read. @param reader - for this subscription alone */
  async open(client: StoreClient, reader: StoreClient): Promise<void> {
    const { keys, settings } = this.#parts;
    this.#reader = reader;
    void reader.lost.then((cause) => {
      this.lose(cause);
    });
    const sinceMs = performance.now();
    await client.run(SUBSCRIBE, [...this.#registryKeys(), ...keys.streams], this.#arguments());
    this.#leaseUntilMs = sinceMs + settings.leaseMs;
    if (this.#ended) throw new Error('The connection of the reader was lost');
    this.#renewal = setInterval(() => void this.#renew(), settings.leaseMs / 3);
  }

  /** Reads on, after `rest`. */
  read(): void {
    if (this.#ended) return;
    this.#wanted = true;
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
      if (this.#wanted && !this.#ended) this.read();
    });
  }

  /** Resolves when the store sends no more. What it has sent is handed over; what nobody has room for goes back. */
  async rest(): Promise<void> {
    this.#wanted = false;
    this.#onRoom?.();
    if (this.#reading) await this.#wake();
    await this.#reading;
    if (!this.#isWanted()) this.#releaseKept();
  }

  accept(delivery: RedisDelivery): MaybePromise<boolean> {
    return this.#leave(delivery) && this.#settler.accept(delivery.ref);
  }

  release(delivery: RedisDelivery): void {
    if (this.#leave(delivery)) this.#settler.release(delivery.ref);
  }

  reject(delivery: RedisDelivery): void {
    if (this.#leave(delivery)) this.#settler.reject(delivery.ref);
  }

  /** Its connection is gone: whatever it holds goes to somebody. */
  lose(cause: Error): void {
    if (this.#ended) return;
    this.#end();
    this.#parts.hooks.onLost(cause);
  }

  /** On a new connection: settles what was not answered, and gives back what was held. Rejects when that is lost, too. */
  async retire(client: StoreClient, how: 'lost' | 'gone'): Promise<void> {
    await this.#settler.recover(client);
    await client.run(RETIRE, this.#registryKeys(), [...this.#arguments(), how]);
  }

  /** No connection has come in time, or nobody wants to know: what was not answered counts as not accepted. */
  giveUp(): void {
    this.#settler.giveUp();
  }

  /** Ends it in order; resolves when the store has confirmed all of it. */
  async close(client: StoreClient): Promise<void> {
    await this.rest();
    this.#end();
    await this.#settler.idle();
    await client.run(RETIRE, this.#registryKeys(), [...this.#arguments(), 'closed']);
  }

  #end(): void {
    this.#ended = true;
    this.#wanted = false;
    this.#held.clear();
    this.#kept = [];
    clearInterval(this.#renewal);
    this.#onRoom?.();
    this.#reader?.end(undefined);
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#wanted) {
        this.#handOverKept();
        const room = this.#parts.credit - this.#held.size;
        if (room > 0) await this.#readOnce(room);
        else await new Promise<void>((resolve) => (this.#onRoom = resolve));
      }
    } catch (error) {
      this.lose(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #readOnce(room: number): Promise<void> {
    const { keys, consumer, settings } = this.#parts;
    const isBack = this.#backFirst;
    const streams = isBack ? keys.backs : keys.streams;
    const block: Argument[] = isBack ? [] : ['BLOCK', Math.ceil(settings.heartbeatMs)];
    const args = ['GROUP', GROUP, consumer, 'COUNT', room, ...block, 'STREAMS', ...streams];
    const reply = await this.#reader?.call('xreadgroup', [...args, ...streams.map(() => '>')]);
    const arrived = readStreams(reply);
    this.#backFirst = arrived.some(([key]) => keys.backs.includes(key));
    for (const [key, entries] of arrived) {
      const stream = keys.streams.indexOf(key) + 1;
      for (const entry of entries) this.#take(stream, entry);
    }
  }

  #take(stream: number, entry: Entry): void {
    const ref = { stream, id: entry.id };
    if (isWakeUp(entry)) {
      this.#settler.reject(ref);
      return;
    }
    const { message, again } = readEntry(entry, this.#parts.connection.clock);
    const delivery = new RedisDelivery(message, again, ref, this);
    if (this.#ended) return; // it goes back with all that was held
    if (message.deadline?.expired) {
      this.#parts.logger.debug({ consumer: this.#parts.consumer }, 'A message has expired and was dropped');
      this.#settler.reject(ref);
    } else if (this.#held.size < this.#parts.credit) this.#handOver(delivery);
    else if (stream <= SHARED_STREAMS) this.#settler.release(ref);
    else this.#kept.push(delivery);
  }

  /** A method, as it changes while others are awaited. */
  #isWanted(): boolean {
    return this.#wanted;
  }

  #handOver(delivery: RedisDelivery): void {
    this.#held.add(delivery);
    this.#parts.hooks.onDelivery(delivery);
  }

  #handOverKept(): void {
    while (this.#held.size < this.#parts.credit) {
      const next = this.#kept.shift();
      if (!next) return;
      this.#handOver(next);
    }
  }

  #releaseKept(): void {
    for (const { ref } of this.#kept.splice(0)) this.#settler.release(ref);
  }

  /** False when it was settled before, or went back with its subscription. */
  #leave(delivery: RedisDelivery): boolean {
    if (!this.#held.delete(delivery)) return false;
    this.#onRoom?.(); // the reader goes on in a turn of its own, never from within a call of the owner
    return true;
  }

  /** Ends a read that waits: by an entry for ourselves, which finds it also when it is only on its way. */
  async #wake(): Promise<void> {
    const { connection, keys, settings } = this.#parts;
    await connection.client?.run(WAKE, [keys.fanout], [Math.ceil(settings.privateTtlMs)]);
  }

  async #renew(): Promise<void> {
    const { client } = this.#parts.connection;
    if (!client) return;
    const sinceMs = performance.now();
    try {
      const held = await client.run(RENEW, this.#registryKeys(), this.#arguments());
      if (held === 1) this.#leaseUntilMs = sinceMs + this.#parts.settings.leaseMs;
      else this.lose(new Error('The lease was over: the store has given what was held to others'));
    } catch {
      // the connection says what is wrong; the next renewal is a third of a lease away
    }
  }

  #registryKeys(): readonly string[] {
    const { leases, ended, subscribers, fanout } = this.#parts.keys;
    return [leases, ended, subscribers, fanout];
  }

  #arguments(): Argument[] {
    const { keys, consumer, settings, listener } = this.#parts;
    const [lease, life] = [settings.leaseMs, settings.privateTtlMs].map(Math.ceil) as [number, number];
    return [keys.base, GROUP, consumer, lease, life, listener];
  }
}
