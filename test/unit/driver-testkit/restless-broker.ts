import { memoryFaults, TransportUrl, uniqueId } from '@ebbgate/core';
import type { BrokerFaults } from '@ebbgate/driver-testkit';
import { randomNumbers } from '../../support/rigs/random-faults.js';

/** Between two cuts, and from a cut to the return, at most. */
const UP_MS = 8;
const DOWN_MS = 4;

/** An in-memory broker whose connections are cut at random, the same way for a seed, and come back by themselves. */
export class RestlessBroker {
  readonly url = `memory://${uniqueId()}/?max_message_bytes=8388608`;
  /** For the suite: what it cuts stays cut. */
  readonly faults: BrokerFaults;
  /** So many cuts so far. */
  cuts = 0;
  readonly #own = memoryFaults(TransportUrl.parse(this.url));
  readonly #random: () => number;
  #cutByTest = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(seed: number) {
    this.#random = randomNumbers(seed);
    this.faults = {
      ...this.#own,
      cut: () => {
        this.#cutByTest = true;
        this.#own.cut();
      },
      restore: () => {
        this.#cutByTest = false;
        this.#own.restore();
      },
    };
    this.#later(UP_MS, () => this.#cut());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #cut(): void {
    this.cuts += 1;
    this.#own.cut();
    this.#later(DOWN_MS, () => this.#restore());
  }

  #restore(): void {
    if (!this.#cutByTest) this.#own.restore();
    this.#later(UP_MS, () => this.#cut());
  }

  #later(mostMs: number, what: () => void): void {
    this.#timer = setTimeout(what, mostMs * this.#random());
  }
}
