import { AssertionError, equal } from 'node:assert/strict';
import type { Delivery, Listener, ServerSource } from '@ebbgate/core';
import type { Ledger } from './ledger.js';
import { Repeats } from './repeats.js';
import { textOf } from './test-message.js';

/** `hold`: the test settles; `accept`: what arrives is accepted at once. */
export type Settling = 'hold' | 'accept';

/** How an inbox is bounded in time, and what it must tell of. */
export interface InboxHost {
  until<T>(work: Promise<T>, what: string): Promise<T>;
  /** True for a message of the host's own, which is no content. */
  isFence(text: string): boolean;
}

/** A listener and what it has received. */
export class Inbox {
  readonly #source: ServerSource | undefined;
  /** All that arrived, in order of arrival; on an unsteady link without what came again. */
  readonly received: Delivery[] = [];
  readonly #host: InboxHost;
  readonly #settling: Settling;
  readonly #repeats: Repeats | undefined;
  #listener: Listener | undefined;
  #taken = 0;
  #onArrival: (() => void)[] = [];

  /** @param source - of a server; @param ledger - on an unsteady link: of the whole test */
  constructor(
    host: InboxHost,
    source: ServerSource | undefined,
    settling: Settling,
    ledger: Ledger | undefined,
  ) {
    this.#host = host;
    this.#source = source;
    this.#settling = settling;
    this.#repeats = ledger && new Repeats(ledger, (work, what) => host.until(work, what));
  }

  get source(): ServerSource {
    if (this.#source) return this.#source;
    throw new AssertionError({ message: "this inbox is no server's" });
  }

  get listener(): Listener {
    if (this.#listener) return this.#listener;
    throw new AssertionError({ message: 'deliveries arrived, but listen() has not resolved' });
  }

  set listener(listener: Listener) {
    this.#listener = listener;
  }

  /** Texts of all that arrived. */
  get texts(): string[] {
    return this.received.map(({ message }) => textOf(message));
  }

  readonly onDelivery = (arrived: Delivery): void => {
    if (this.#host.isFence(textOf(arrived.message))) {
      void arrived.accept();
      return;
    }
    const delivery = this.#repeats ? this.#repeats.take(arrived) : arrived;
    if (!delivery) return;
    this.received.push(delivery);
    if (this.#settling === 'accept') void delivery.accept();
    for (const tell of this.#onArrival.splice(0)) tell();
  };

  /** What the test holds is going to come again: as new, with the deliveries of before bound to their channel. */
  giveBack(): void {
    this.#repeats?.giveBack();
  }

  /** The next delivery that no test has taken yet. */
  async next(): Promise<Delivery> {
    const index = this.#taken++;
    await this.arrived(index + 1);
    const delivery = this.received[index];
    if (delivery) return delivery;
    throw new AssertionError({ message: 'unreachable: it has arrived' });
  }

  async take(count: number): Promise<Delivery[]> {
    const taken: Delivery[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** Takes and accepts the next delivery, and gives its text. */
  async acceptNext(): Promise<string> {
    const delivery = await this.next();
    if (this.#settling === 'hold')
      equal(await delivery.accept(), true, 'accept() of a delivery on a live channel');
    return textOf(delivery.message);
  }

  /** Resolves when so many have arrived in all. */
  async arrived(count: number): Promise<void> {
    while (this.received.length < count)
      await this.arrival(`delivery ${String(count)} (${String(this.received.length)} have arrived)`);
  }

  /** Resolves at the next arrival. */
  arrival(what: string): Promise<void> {
    return this.#host.until(new Promise((resolve) => this.#onArrival.push(resolve)), what);
  }
}
