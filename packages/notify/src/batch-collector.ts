import { TimerEntry, timers, type Verdict } from '@ebbgate/core';

/** How batches are made. */
export interface BatchOptions {
  /** Most notifications in a batch, at least 1. */
  readonly size: number;
  /** A batch that is not full is handled so long after its first notification came; default 1000. */
  readonly timeoutMs?: number;
}

/** One that waits for its batch. */
interface Member<T> {
  readonly item: T;
  readonly settle: (verdict: Verdict) => void;
}

/** Joins what comes one by one into batches: full ones at once, the others when their time is over. */
export class BatchCollector<T> extends TimerEntry {
  readonly #options: Required<BatchOptions>;
  readonly #handle: (items: readonly T[]) => Promise<ReadonlyMap<T, Verdict>>;
  #members: Member<T>[] = [];

  /** @param handle - never rejects, and has a verdict for each */
  constructor(
    options: Required<BatchOptions>,
    handle: (items: readonly T[]) => Promise<ReadonlyMap<T, Verdict>>,
  ) {
    super();
    this.#options = options;
    this.#handle = handle;
  }

  /** Resolves when its batch was handled. */
  add(item: T): Promise<Verdict> {
    return new Promise((settle) => {
      this.#members.push({ item, settle });
      if (this.#members.length >= this.#options.size) this.onTime();
      else if (this.#members.length === 1) timers.add(this, this.#options.timeoutMs);
    });
  }

  /** Handles it by itself: what was handed back must not take others with it. */
  async alone(item: T): Promise<Verdict> {
    return (await this.#handle([item])).get(item) ?? 'accept';
  }

  /** What waits goes back. */
  releaseAll(): void {
    timers.remove(this);
    for (const { settle } of this.#members.splice(0)) settle({ releaseAfterMs: 0 });
  }

  override onTime(): void {
    timers.remove(this);
    const members = this.#members;
    this.#members = [];
    void this.#run(members);
  }

  async #run(members: readonly Member<T>[]): Promise<void> {
    const verdicts = await this.#handle(members.map(({ item }) => item));
    for (const { item, settle } of members) settle(verdicts.get(item) ?? 'accept');
  }
}
