import { onAbort } from '@ebbgate/core';
import { HypervisorError } from '../errors.js';
import { aborted, type Pause, pause } from './pause.js';

/** What the fake hypervisor does, in steps that can be made to fail or to wait. */
export type VirtStep =
  | 'cache-image'
  | 'create-disks'
  | 'plug-vifs'
  | 'start-guest'
  | 'check-destination'
  | 'check-source'
  | 'pre-live-migration'
  | 'copy-memory'
  | 'switch-over'
  | 'post-at-source'
  | 'post-at-destination'
  | 'rollback-at-destination'
  | 'destroy'
  | 'power-on'
  | 'power-off'
  | 'reboot-soft'
  | 'reboot-hard'
  | 'copy-disk'
  | 'upload-image'
  | 'console-output'
  | 'check-shared-storage'
  | 'check-cold-destination'
  | 'copy-disks'
  | 'finish-migration'
  | 'confirm-migration'
  | 'drop-disks'
  | 'finish-revert'
  | 'keep-disks';

/** A step that waits for a word. */
export interface Hold {
  /** Resolves when the step has been reached. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
}

interface Gate {
  readonly reached: () => void;
  readonly open: Promise<void>;
}

/** Failures and holds to order, by step. Each order is used once. */
export class StepControl {
  readonly #pause: Pause;
  readonly #failures = new Map<VirtStep, Error[]>();
  readonly #gates = new Map<VirtStep, Gate[]>();

  constructor(wait: Pause = pause) {
    this.#pause = wait;
  }

  /** The next time that the step is taken it fails. */
  failNext(step: VirtStep, error: Error = new HypervisorError(`${step} failed, as ordered`)): void {
    this.#failures.set(step, [...(this.#failures.get(step) ?? []), error]);
  }

  /** The next time that the step is taken it waits. */
  hold(step: VirtStep): Hold {
    let reached = (): void => undefined;
    let release = (): void => undefined;
    const whenReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#gates.set(step, [...(this.#gates.get(step) ?? []), { reached, open }]);
    return { reached: whenReached, release };
  }

  /** Takes a step: waits for its gate, fails when it was ordered to, and lasts `ms`. */
  async take(step: VirtStep, ms: number, signal?: AbortSignal): Promise<void> {
    const gate = this.#gates.get(step)?.shift();
    if (gate) {
      gate.reached();
      await unlessAborted(gate.open, signal);
    }
    const failure = this.#failures.get(step)?.shift();
    if (failure) throw failure;
    if (signal?.aborted) throw aborted(signal);
    if (ms > 0) await this.#pause(ms, signal);
  }
}

function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(aborted(signal));
      return;
    }
    const leave = onAbort(signal, () => {
      reject(aborted(signal));
    });
    void work.then(() => {
      leave();
      resolve();
    });
  });
}
