import { SETTLE } from './scripts.js';
import type { Argument, StoreClient } from './store-client.js';
import type { StoreConnection } from './store-connection.js';
import { refusalOf } from './store-errors.js';

/** One script settles so many at most: others want their turn at the store. */
const BATCH = 256;

/** What is to be done with one entry. */
interface Item {
  readonly verb: 'accept' | 'release';
  readonly ref: string;
  /** Told whether it was there to be taken. */
  readonly answered: (taken: boolean) => void;
}

const nobody = (): void => undefined;

/** What a settler is made of. */
export interface SettlerParts {
  readonly connection: StoreConnection;
  /** Of the leases, and of what the consumer holds. */
  readonly keys: readonly string[];
  /** What the script is told first: base of the keys, consumer, life. */
  readonly args: readonly Argument[];
  readonly acceptance: 'confirmed' | 'written';
  /** Is it certain that nobody else may take what we hold? */
  readonly leaseHolds: () => boolean;
  /** The store has refused to settle: that is to be asked for again, as after the loss of the connection. */
  readonly onRefused: (error: Error) => void;
}

/**
 * Settles what one consumer has fetched. What is settled in one turn of the event loop, or while the step before it is not
 * answered, leaves as one step. What was under way when the connection was lost, or was refused, is asked for again when the
 * consumer retires: while the lease holds all of it is ours, whether it was done or not.
 */
export class Settler {
  readonly #parts: SettlerParts;
  #items: Item[] = [];
  #due = false;
  readonly #unanswered = new Set<readonly Item[]>();
  #whenIdle: (() => void)[] = [];

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** True: it was ours, and is nobody's any more. False: somebody else has it, or will have it. */
  accept(ref: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#add({ verb: 'accept', ref, answered: resolve });
    });
  }

  /** Drops it for good. */
  reject(ref: string): void {
    this.#add({ verb: 'accept', ref, answered: nobody });
  }

  /** Gives it back for anybody. */
  release(ref: string): void {
    this.#add({ verb: 'release', ref, answered: nobody });
  }

  /** Resolves when the store has answered all, or when there is no hope left. */
  idle(): Promise<void> {
    if (this.#items.length === 0 && this.#unanswered.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** On a new connection: asks for what was not answered on the old one. Rejects when that is lost, too. */
  async recover(client: StoreClient): Promise<void> {
    const items = [...[...this.#unanswered].flat(), ...this.#items];
    this.#unanswered.clear();
    this.#items = [];
    for (const batch of batches(items)) await this.#write(client, batch);
  }

  /** Nobody will ask any more: it is not known what became of them, so no handler may run. */
  giveUp(): void {
    const items = [...[...this.#unanswered].flat(), ...this.#items];
    this.#unanswered.clear();
    this.#items = [];
    for (const { answered } of items) answered(false);
    this.#tellIdle();
  }

  #add(item: Item): void {
    this.#items.push(item);
    if (this.#unanswered.size === 0 || this.#parts.acceptance === 'written') this.#beDue();
  }

  #beDue(): void {
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#due = false;
    const { client } = this.#parts.connection;
    if (!client) return; // kept for the next connection
    const items = this.#items;
    this.#items = [];
    const { acceptance, leaseHolds, onRefused } = this.#parts;
    const onFailed = (error: Error): void => {
      if (refusalOf(error) !== undefined) onRefused(error); // else it is kept for the next connection
    };
    for (const batch of batches(items)) this.#write(client, batch).catch(onFailed);
    if (acceptance === 'written' && leaseHolds()) for (const { answered } of items) answered(true); // what comes later is not heard
  }

  async #write(client: StoreClient, batch: readonly Item[]): Promise<void> {
    const { keys, args } = this.#parts;
    const refs = (of: Item['verb']): readonly string[] =>
      batch.filter(({ verb }) => verb === of).map(({ ref }) => ref);
    const accepted = refs('accept');
    const all = [...args, accepted.length, ...accepted, ...refs('release')];
    this.#unanswered.add(batch);
    const isOurs = (await client.run(SETTLE, keys, all)) === 1;
    if (!this.#unanswered.delete(batch)) return; // given up meanwhile, or asked for again
    for (const { answered } of batch) answered(isOurs);
    if (this.#items.length > 0) this.#beDue();
    else this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#items.length > 0 || this.#unanswered.size > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

function batches(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length === 0) return [];
  if (items.length <= BATCH) return [items];
  const count = Math.ceil(items.length / BATCH);
  return Array.from({ length: count }, (_, index) => items.slice(index * BATCH, (index + 1) * BATCH));
}
