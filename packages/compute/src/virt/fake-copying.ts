import type { CopyProgress, LiveMigrateOptions } from './driver.js';
import type { GuestNames } from './fake-orders.js';
import type { StepControl } from './step-control.js';

/** What a live migration has to copy, and how fast. */
export interface CopyPlan {
  readonly memoryMib: number;
  readonly diskMib: number;
  /** MiB a second; can be infinite. */
  readonly bandwidthMibS: number;
  /** MiB a second. */
  readonly dirtyMibS: number;
}

/** Pieces in which all is copied once; progress is told after each. */
const ROUNDS = 40;
const MIB = 1024 * 1024;

/** The copying of one guest: its disks, then its memory, of which it dirties some again meanwhile. */
export class FakeCopying {
  readonly #steps: StepControl;
  readonly #guest: GuestNames;
  readonly #plan: CopyPlan;
  readonly #force = new AbortController();
  readonly #disk: Amount;
  readonly #memory: Amount;

  constructor(steps: StepControl, guest: GuestNames, plan: CopyPlan) {
    this.#steps = steps;
    this.#guest = guest;
    this.#plan = plan;
    this.#disk = new Amount(plan.diskMib);
    this.#memory = new Amount(plan.memoryMib);
  }

  /** The guest stands still from now on, so that it dirties nothing any more. */
  force(): void {
    this.#force.abort();
  }

  /** Resolves when nothing is left to be copied. Steps `copy-memory`, and once it is forced `post-copy`, for each round. */
  async run({ signal, onProgress, onPostCopy }: LiveMigrateOptions): Promise<void> {
    const tell = (): void => onProgress?.({ memory: this.#memory.progress, disk: this.#disk.progress });
    const { dirtyMibS } = this.#plan;
    if (await this.#unlessForced(dirtyMibS, tell, signal)) return;
    await onPostCopy?.();
    await this.#rounds('post-copy', 0, tell, signal);
  }

  /** False when it was forced before the end. */
  async #unlessForced(
    dirtyMibS: number,
    tell: () => void,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const force = this.#force.signal;
    // One for all rounds: signals made of others are dear.
    const either = signal ? AbortSignal.any([signal, force]) : force;
    try {
      await this.#rounds('copy-memory', dirtyMibS, tell, either);
      return true;
    } catch (error) {
      if (!force.aborted || signal?.aborted === true) throw error;
      return false;
    }
  }

  async #rounds(
    step: 'copy-memory' | 'post-copy',
    dirtyMibS: number,
    tell: () => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { memoryMib, diskMib, bandwidthMibS } = this.#plan;
    const pieceMib = (memoryMib + diskMib) / ROUNDS;
    const roundS = pieceMib / bandwidthMibS;
    do {
      await this.#steps.take(step, roundS * 1000, { guest: this.#guest, signal });
      const rest = this.#disk.copy(pieceMib);
      this.#memory.copy(rest);
      if (this.#memory.isLeft) this.#memory.dirty(dirtyMibS * roundS); // the last piece is copied from a guest that stands still
      tell();
    } while (this.#disk.isLeft || this.#memory.isLeft);
  }
}

/** What is to be copied of one kind. */
class Amount {
  readonly #totalMib: number;
  #remainingMib: number;
  #processedMib = 0;

  constructor(totalMib: number) {
    this.#totalMib = totalMib;
    this.#remainingMib = totalMib;
  }

  get isLeft(): boolean {
    return this.#remainingMib > 0;
  }

  /** Copies up to so much; gives what is left of that. */
  copy(mib: number): number {
    // What is less than a byte away from the end is the end: pieces are fractions.
    const copied = this.#remainingMib - mib < 1 / MIB ? this.#remainingMib : mib;
    this.#remainingMib -= copied;
    this.#processedMib += copied;
    return Math.max(mib - copied, 0);
  }

  dirty(mib: number): void {
    if (mib > 0) this.#remainingMib = Math.min(this.#remainingMib + mib, this.#totalMib);
  }

  get progress(): CopyProgress {
    const [total, processed, remaining] = [this.#totalMib, this.#processedMib, this.#remainingMib].map(
      (mib) => Math.round(mib * MIB),
    );
    return { total: total ?? 0, processed: processed ?? 0, remaining: remaining ?? 0 };
  }
}
