import type { Logger, MaybePromise } from '@ebbgate/core';
import { RedisDelivery, type Settling } from './delivery.js';
import { readEntry } from './entry.js';
import type { RedisSettings } from './options.js';
import { FETCH, JOIN_POOL, RENEW, RETIRE, SUBSCRIBE, WAKE } from './scripts.js';
import { Settler } from './settler.js';
import { SignReader } from './sign-reader.js';
import { heldBy, type SourceKeys } from './source-keys.js';
import type { Argument, StoreClient } from './store-client.js';
import type { StoreConnection } from './store-connection.js';
import { refusalOf } from './store-errors.js';

/** What comes in one answer is enough at so many bytes: others want their turn at the store, too. */
const FETCH_BYTES = 512 * 1024;

/** The answer of the scripts that renew when there may be more consumers whose lease is over. */
const MORE_TO_REAP = 2;

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

/** One try at reading: a consumer and its lease, its own connection, and what that has brought and is not settled. */
export class Subscription implements Settling {
  readonly #parts: SubscriptionParts;
  readonly #settler: Settler;
  /** Handed over and not settled: never more than the credit. */
  readonly #held = new Set<RedisDelivery>();
  /** What is told of it to the scripts that fetch and settle. */
  readonly #queues: readonly string[];
  readonly #holding: readonly Argument[];
  #reader: StoreClient | undefined;
  #signs: SignReader | undefined;
  #reading: Promise<void> | undefined;
  #wanted = false;
  /** Of the next entry that is fetched: with its place it is its name among what is held. */
  #number = 1;
  #onRoom: (() => void) | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #leaseUntilMs = 0;
  #ended = false;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
    const { connection, settings, keys, consumer } = parts;
    const holder = [keys.leases, heldBy(keys.base, consumer)];
    this.#queues = [...holder, ...keys.queues];
    this.#holding = [keys.base, consumer, Math.ceil(settings.privateTtlMs)];
    this.#settler = new Settler({
      connection,
      keys: holder,
      args: this.#holding,
      acceptance: settings.acceptance,
      leaseHolds: () => !this.#ended && performance.now() < this.#leaseUntilMs,
      onRefused: (error) => {
        this.lose(error);
      },
    });
  }

  /** When it resolves a message sent by anyone arrives here, once it is read. @param reader - for this subscription alone */
  async open(client: StoreClient, reader: StoreClient): Promise<void> {
    const { keys, settings } = this.#parts;
    this.#reader = reader;
    this.#signs = new SignReader(reader, keys.bells, settings.heartbeatMs);
    void reader.lost.then((cause) => {
      this.lose(cause);
    });
    const sinceMs = performance.now();
    const reply = await client.run(SUBSCRIBE, this.#registryKeys(), [...this.#arguments(), ...keys.members]);
    await this.#joinPool(client);
    this.#leaseUntilMs = sinceMs + settings.leaseMs;
    if (this.#ended) throw new Error('The connection of the reader was lost');
    this.#renewal = setInterval(() => void this.#renew(), settings.leaseMs / 3);
    if (reply === MORE_TO_REAP) void this.#renew();
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

  /** Resolves when the store sends no more. What it has sent is handed over. */
  async rest(): Promise<void> {
    this.#wanted = false;
    this.#onRoom?.();
    if (this.#reading) await this.#wake();
    await this.#reading;
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
  async retire(client: StoreClient, how: 'lost' | 'closed'): Promise<void> {
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
    const { pool } = this.#parts.keys;
    if (pool?.ephemeral === true) await client.run(JOIN_POOL, pool.namedIn, [pool.list, 0]);
    await client.run(RETIRE, this.#registryKeys(), [...this.#arguments(), 'closed']);
  }

  #end(): void {
    this.#ended = true;
    this.#wanted = false;
    this.#held.clear();
    clearInterval(this.#renewal);
    this.#onRoom?.();
    this.#reader?.end(undefined);
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#wanted && this.#signs) {
        const room = this.#parts.credit - this.#held.size;
        if (room > 0) await this.#readOnce(this.#signs, room);
        else await new Promise<void>((resolve) => (this.#onRoom = resolve));
      }
    } catch (error) {
      this.lose(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #readOnce(signs: SignReader, room: number): Promise<void> {
    const { names } = this.#parts.keys;
    const args = [...this.#holding, this.#number, room, FETCH_BYTES];
    const reply = await signs.read(FETCH, this.#queues, args);
    if (!reply) throw leaseOver();
    const [places, ...entries] = reply as readonly Buffer[];
    for (const [index, entry] of entries.entries())
      this.#take(names[(places?.[index] ?? 0) - 1] ?? '', entry);
  }

  /** @param queue - the name of its queue, as the store has it */
  #take(queue: string, entry: Buffer): void {
    const ref = `${queue}|${String(this.#number)}`;
    this.#number += 1;
    const { message, again } = readEntry(entry, this.#parts.connection.clock);
    if (this.#ended) return; // it goes back with all that was held
    if (message.deadline?.expired) {
      this.#parts.logger.debug({ consumer: this.#parts.consumer }, 'A message has expired and was dropped');
      this.#settler.reject(ref);
      return;
    }
    const delivery = new RedisDelivery(message, again, ref, this);
    this.#held.add(delivery);
    this.#parts.hooks.onDelivery(delivery);
  }

  /** False when it was settled before, or went back with its subscription. */
  #leave(delivery: RedisDelivery): boolean {
    if (!this.#held.delete(delivery)) return false;
    this.#onRoom?.(); // the reader goes on in a turn of its own, never from within a call of the owner
    return true;
  }

  /** Ends a read that waits: by a sign for ourselves, which finds it also when it is only on its way. */
  async #wake(): Promise<void> {
    const { connection, keys, settings } = this.#parts;
    await connection.client?.run(WAKE, [keys.ownBell], [Math.ceil(settings.privateTtlMs)]);
  }

  /** From then on it gets copies; one that is its listener's alone, for as long as that is heard of. */
  async #joinPool(client: StoreClient): Promise<void> {
    const { keys, settings } = this.#parts;
    if (!keys.pool) return;
    const life = keys.pool.ephemeral ? Math.ceil(settings.privateTtlMs) : 'inf';
    await client.run(JOIN_POOL, keys.pool.namedIn, [keys.pool.list, life]);
  }

  async #renew(): Promise<void> {
    const { client } = this.#parts.connection;
    if (!client) return;
    const sinceMs = performance.now();
    try {
      const args = [...this.#arguments(), ...this.#parts.keys.members];
      const held = await client.run(RENEW, this.#registryKeys(), args);
      if (held === 0) {
        this.lose(leaseOver());
        return;
      }
      if (this.#parts.keys.pool?.ephemeral === true) await this.#joinPool(client);
      this.#leaseUntilMs = sinceMs + this.#parts.settings.leaseMs;
      if (held === MORE_TO_REAP && !this.#ended) void this.#renew();
    } catch (error) {
      if (refusalOf(error) !== undefined) this.lose(error as Error); // else the connection says what is wrong
    }
  }

  #registryKeys(): readonly string[] {
    const { leases, subscribers, declared } = this.#parts.keys;
    return [leases, subscribers, declared];
  }

  #arguments(): Argument[] {
    const { keys, consumer, settings, listener } = this.#parts;
    const [lease, life] = [settings.leaseMs, settings.privateTtlMs].map(Math.ceil) as [number, number];
    return [keys.base, consumer, lease, life, listener];
  }
}

function leaseOver(): Error {
  return new Error('The lease was over: the store has given what was held to others');
}
