/** Bounded concurrency: so many slots, a count of what runs, and a promise for the moment when nothing does. */
export class Executor {
  readonly slots: number;
  #running = 0;
  #idle: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(slots: number) {
    this.slots = slots;
  }

  get running(): number {
    return this.#running;
  }

  get free(): number {
    return this.slots - this.#running;
  }

  /** Takes a slot; false when none is free. */
  tryTake(): boolean {
    if (this.#running >= this.slots) return false;
    this.#running += 1;
    return true;
  }

  /** Gives a slot back: once for each that was taken. */
  give(): void {
    this.#running -= 1;
    if (this.#running > 0 || !this.#idle) return;
    this.#idle.resolve();
    this.#idle = undefined;
  }

  /** Resolves when no slot is taken. */
  whenIdle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    if (!this.#idle) {
      let resolve: () => void = () => undefined;
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#idle = { promise, resolve };
    }
    return this.#idle.promise;
  }
}
