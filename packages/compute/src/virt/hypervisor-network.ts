import type { GuestState } from './driver.js';
import type { GuestStore, Hypervisors } from './hypervisors.js';

class MemoryGuests implements GuestStore {
  readonly #network: HypervisorNetwork;
  readonly #guests = new Map<string, GuestState>();
  readonly #expected = new Set<string>();

  constructor(network: HypervisorNetwork) {
    this.#network = network;
  }

  guests(): ReadonlyMap<string, GuestState> {
    return this.#guests;
  }

  state(uuid: string): GuestState | undefined {
    return this.#guests.get(uuid);
  }

  set(uuid: string, state: GuestState): void {
    this.#guests.set(uuid, state);
  }

  remove(uuid: string): void {
    this.#guests.delete(uuid);
  }

  expected(): readonly string[] {
    return [...this.#expected];
  }

  expect(uuid: string): void {
    this.#expected.add(uuid);
  }

  unexpect(uuid: string): void {
    this.#expected.delete(uuid);
  }

  move(uuid: string, dest: string): boolean {
    const state = this.#guests.get(uuid);
    if (state === undefined || !this.#network.receive(uuid, state, dest)) return false;
    this.#guests.delete(uuid);
    return true;
  }

  receive(uuid: string, state: GuestState): boolean {
    if (!this.#expected.delete(uuid)) return false;
    this.#guests.set(uuid, state);
    return true;
  }
}

/** The machines of all hosts, in the memory of one process. */
export class HypervisorNetwork implements Hypervisors {
  readonly #stores = new Map<string, MemoryGuests>();

  /** The machine of a host; made when there is none, then always the same. */
  storeOf(host: string): GuestStore {
    const store = this.#stores.get(host) ?? new MemoryGuests(this);
    this.#stores.set(host, store);
    return store;
  }

  /** The hosts on which a guest is: one, if all is well. */
  locate(uuid: string): readonly string[] {
    return [...this.#stores].filter(([, store]) => store.state(uuid) !== undefined).map(([host]) => host);
  }

  /** What is prepared on all hosts for guests that have not come. */
  expected(): readonly { readonly host: string; readonly uuid: string }[] {
    return [...this.#stores].flatMap(([host, store]) => store.expected().map((uuid) => ({ host, uuid })));
  }

  /** A guest comes to a host; false when nothing was prepared for it there. */
  receive(uuid: string, state: GuestState, host: string): boolean {
    return this.#stores.get(host)?.receive(uuid, state) ?? false;
  }
}
