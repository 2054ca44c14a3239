import { onAbort } from '@ebbgate/core';
import { aborted } from '../virt/pause.js';

interface Job {
  begin(): void;
}

/** Runs a bounded number of jobs at a time, the others in the order in which they came. */
export class WorkPool {
  readonly #size: number;
  readonly #queue: Job[] = [];
  #running = 0;

  /** @param size - jobs that run at the same time, at least 1 */
  constructor(size: number) {
    this.#size = size;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Runs `work` when its turn has come and passes its outcome on.
   * @throws OperationAbortedError (`ERR_ABORTED`) when the signal aborts before its turn; later it is the work's to see
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#queue.shift()?.begin();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(aborted(signal));
        return;
      }
      let leave = (): void => undefined;
      const job: Job = {
        begin: () => {
          leave();
          this.#running += 1;
          resolve();
        },
      };
      if (this.#running < this.#size) {
        job.begin();
        return;
      }
      this.#queue.push(job);
      leave = onAbort(signal, () => {
        this.#queue.splice(this.#queue.indexOf(job), 1);
        reject(aborted(signal));
      });
    });
  }
}
