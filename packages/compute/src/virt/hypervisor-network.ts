import type { GuestState } from './driver.js';
import type { GuestStore, Hypervisors, ImageStore } from './hypervisors.js';

class MemoryGuests implements GuestStore {
  readonly #network: HypervisorNetwork;
  readonly #guests = new Map<string, GuestState>();
  readonly #expected = new Set<string>();
  readonly #kept = new Map<string, GuestState>();

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

  kept(): readonly string[] {
    return [...this.#kept.keys()];
  }

  keep(uuid: string): void {
    relocate(uuid, this.#guests, this.#kept);
  }

  takeBack(uuid: string): void {
    relocate(uuid, this.#kept, this.#guests);
  }

  dropKept(uuid: string): void {
    this.#kept.delete(uuid);
  }

  receive(uuid: string, state: GuestState): boolean {
    if (!this.#expected.delete(uuid)) return false;
    this.#guests.set(uuid, state);
    return true;
  }
}

function relocate(uuid: string, from: Map<string, GuestState>, to: Map<string, GuestState>): void {
  const state = from.get(uuid);
  if (state === undefined) return;
  from.delete(uuid);
  to.set(uuid, state);
}

class MemoryImages implements ImageStore {
  readonly #images = new Set<string>();

  has(imageId: string): boolean {
    return this.#images.has(imageId);
  }

  add(imageId: string): void {
    this.#images.add(imageId);
  }

  remove(imageId: string): void {
    this.#images.delete(imageId);
  }

  list(): readonly string[] {
    return [...this.#images];
  }
}

/** The machines of all hosts, in the memory of one process. */
export class HypervisorNetwork implements Hypervisors {
  /** The images that were made of guests. */
  readonly images: ImageStore = new MemoryImages();
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
