import type { HeldConnection } from './held-connection.js';

/** Servers that share one connection: each has a channel or a session, and the broker's `channel_max` is 2047 (`decisions.md` 30). */
const SERVERS_EACH = 1_000;

/** The connections that consume: one, and a further one for each thousand servers. */
export class ConsumingConnections<Model> {
  readonly first: HeldConnection<Model>;
  readonly #make: () => HeldConnection<Model>;
  readonly #all: HeldConnection<Model>[];
  #isOpen = false;

  constructor(make: () => HeldConnection<Model>) {
    this.#make = make;
    this.first = make();
    this.#all = [this.first];
  }

  get all(): readonly HeldConnection<Model>[] {
    return this.#all;
  }

  /** They begin to connect, those that come later too. */
  open(): void {
    this.#isOpen = true;
    for (const connection of this.#all) connection.open();
  }

  /** The one for a further server, which must become its user before anything is awaited. */
  forServer(): HeldConnection<Model> {
    const free = this.#all.find(({ users }) => users.size < SERVERS_EACH);
    if (free) return free;
    const another = this.#make();
    this.#all.push(another);
    if (this.#isOpen) another.open();
    return another;
  }
}
