import type { Dictionary } from '../rpc/kinds.js';

/** What the fake network service knows of one instance: plain members, its own affair. */
export type NetworkState = Dictionary;

/** Where the fake network service keeps what it knows, so that several of them can be one. */
export interface NetworkStore {
  /** What is known of an instance; undefined: nothing. */
  read(instanceUuid: string): Promise<NetworkState | undefined>;
  /**
   * Replaces what is known of an instance, in one step; undefined: forgets it.
   * @param change - called once or several times: what it does besides must be harmless
   */
  change(
    instanceUuid: string,
    change: (state: NetworkState | undefined) => NetworkState | undefined,
  ): Promise<void>;
}

/** In memory, for one process. */
export class MemoryNetworkStore implements NetworkStore {
  readonly #states = new Map<string, NetworkState>();

  async read(instanceUuid: string): Promise<NetworkState | undefined> {
    return this.#states.get(instanceUuid);
  }

  async change(
    instanceUuid: string,
    change: (state: NetworkState | undefined) => NetworkState | undefined,
  ): Promise<void> {
    const state = change(this.#states.get(instanceUuid));
    if (state === undefined) this.#states.delete(instanceUuid);
    else this.#states.set(instanceUuid, state);
  }
}
