import type { StoreClient } from './store-client.js';
import type { Subscription } from './subscription.js';

/**
 * Subscriptions whose connection was lost: what they held is given back by the next one. Each is kept until the store has
 * confirmed that, or until its lease is over: then others have what it held, and nothing is to be asked.
 */
export class LostSubscriptions {
  readonly #kept = new Map<Subscription, NodeJS.Timeout>();
  readonly #leaseMs: number;
  readonly #onEmpty: () => void;

  constructor(leaseMs: number, onEmpty: () => void) {
    this.#leaseMs = leaseMs;
    this.#onEmpty = onEmpty;
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  add(subscription: Subscription): void {
    const end = setTimeout(() => {
      subscription.giveUp();
      this.#forget(subscription);
    }, this.#leaseMs);
    this.#kept.set(subscription, end.unref());
  }

  /** Resolves when the store has taken back all of them. Rejects when its connection is lost, too. */
  async retire(client: StoreClient, how: 'lost' | 'closed'): Promise<void> {
    for (const subscription of [...this.#kept.keys()]) {
      await subscription.retire(client, how);
      this.#forget(subscription);
    }
  }

  /** Nobody waits for what was accepted on them: no handler may run. What they held is given back all the same. */
  giveUp(): void {
    for (const subscription of this.#kept.keys()) subscription.giveUp();
  }

  #forget(subscription: Subscription): void {
    clearTimeout(this.#kept.get(subscription));
    if (this.#kept.delete(subscription) && this.isEmpty) this.#onEmpty();
  }
}
