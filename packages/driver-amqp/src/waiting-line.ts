import { type Deadline, TimerEntry, timers } from '@ebbgate/core';

/** One that waits. */
class Turn extends TimerEntry {
  readonly #line: Set<Turn>;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  readonly #late: () => Error;
  readonly bytes: number;

  constructor(
    line: Set<Turn>,
    bytes: number,
    late: () => Error,
    resolve: () => void,
    reject: (error: Error) => void,
  ) {
    super();
    this.#line = line;
    this.bytes = bytes;
    this.#late = late;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  go(): void {
    timers.remove(this);
    this.#line.delete(this);
    this.#resolve();
  }

  override onTime(): void {
    this.#line.delete(this);
    this.#reject(this.#late());
  }
}

/**
 * Sends that wait for the same thing, which may take hours: each until its deadline, after which nothing of it is kept.
 * They go on in the order in which they came.
 */
export class WaitingLine {
  readonly #turns = new Set<Turn>();

  get isEmpty(): boolean {
    return this.#turns.size === 0;
  }

  /** Rejects with what `late` makes when the deadline comes first. */
  wait(deadline: Deadline, bytes: number, late: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = new Turn(this.#turns, bytes, late, resolve, reject);
      this.#turns.add(turn);
      timers.add(turn, deadline.remainingMs);
    });
  }

  /** Lets go on those in front, until they have `most` bytes together. */
  letGo(most: number): void {
    let bytes = 0;
    for (const turn of this.#turns) {
      if (bytes >= most) return;
      bytes += turn.bytes;
      turn.go();
    }
  }
}
