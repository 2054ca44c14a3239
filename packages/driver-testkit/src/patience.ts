import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Deadline, MessageDeliveryError } from '@ebbgate/core';
import type { PrepareOptions, RpcClient } from '@ebbgate/rpc';

/** Sends again what the broker did not take, as users do whose links fail. */
export class Patience {
  readonly #deadline: Deadline;
  /** Sends that may have arrived although they have failed, and were sent again. */
  doubts = 0;

  constructor(deadline: Deadline) {
    this.#deadline = deadline;
  }

  /** Settles as the last attempt does; only a MessageDeliveryError of our own side leads to another one. */
  async persist<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof MessageDeliveryError) || error.outcome === 'answered') throw error;
        if (this.#deadline.expired) throw error;
        if (error.outcome === 'unknown') this.doubts += 1;
      }
      await nextTurn(); // a driver that fails at once must not starve the link
    }
  }
}

/** What tests use of a client. */
export interface TestClient {
  call: RpcClient['call'];
  cast: RpcClient['cast'];
  prepare(overrides: PrepareOptions): TestClient;
}

/** A client that sends again. */
export class PatientClient implements TestClient {
  readonly #client: RpcClient;
  readonly #patience: Patience;

  constructor(client: RpcClient, patience: Patience) {
    this.#client = client;
    this.#patience = patience;
  }

  call(...args: Parameters<RpcClient['call']>): Promise<unknown> {
    return this.#patience.persist(() => this.#client.call(...args));
  }

  cast(...args: Parameters<RpcClient['cast']>): Promise<void> {
    return this.#patience.persist(() => this.#client.cast(...args));
  }

  prepare(overrides: PrepareOptions): PatientClient {
    return new PatientClient(this.#client.prepare(overrides), this.#patience);
  }
}
