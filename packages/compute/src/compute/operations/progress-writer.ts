import type { MigrationProgress } from '../../virt/driver.js';

/** Writes the newest progress, one write at a time: a slow database makes it coarser, never late. */
export class ProgressWriter {
  readonly #write: (progress: MigrationProgress) => Promise<unknown>;
  readonly #onError: (error: unknown) => void;
  #next: MigrationProgress | undefined;
  #writing: Promise<void> | undefined;

  constructor(write: (progress: MigrationProgress) => Promise<unknown>, onError: (error: unknown) => void) {
    this.#write = write;
    this.#onError = onError;
  }

  report(progress: MigrationProgress): void {
    this.#next = progress;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when the last one reported is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let progress = this.#next; progress; progress = this.#next) {
      this.#next = undefined;
      try {
        await this.#write(progress);
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#writing = undefined;
  }
}
