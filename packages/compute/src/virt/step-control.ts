import { onAbort } from '@ebbgate/core';
import { HypervisorError } from '../errors.js';
import { type FakeOrder, type FakeOrders, type GuestNames, NO_ORDERS } from './fake-orders.js';
import { aborted, type Pause, pause } from './pause.js';
import type { VirtStep } from './virt-steps.js';

/** A step that waits for a word. */
export interface Hold {
  /** Resolves when the step has been reached. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
}

/** What a step is about, and how it ends early. */
export interface StepOptions {
  /** Undefined: no guest in particular, and no order is for it. */
  readonly guest?: GuestNames | undefined;
  /** Ends a step that waits or lasts: it rejects with OperationAbortedError (`ERR_ABORTED`). */
  readonly signal?: AbortSignal | undefined;
}

interface Once<What> {
  readonly what: What;
  /** Undefined: whichever guest comes first. */
  readonly uuid: string | undefined;
}

interface Gate {
  readonly reached: () => void;
  readonly open: Promise<void>;
}

/** How often a step that is stalled looks whether it still is. */
const STALL_LOOK_MS = 200;

/**
 * Failures, holds and durations to order, by step. What is ordered here is used once; what {@link FakeOrders} say holds
 * for as long as they say it.
 */
export class StepControl {
  readonly #pause: Pause;
  readonly #orders: FakeOrders;
  readonly #failures = new Map<VirtStep, Once<Error>[]>();
  readonly #gates = new Map<VirtStep, Once<Gate>[]>();

  constructor(wait: Pause = pause, orders: FakeOrders = NO_ORDERS) {
    this.#pause = wait;
    this.#orders = orders;
  }

  /** The next time that the step is taken it fails. @param uuid - for this guest; default: for any */
  failNext(
    step: VirtStep,
    error: Error = new HypervisorError(`${step} failed, as ordered`),
    uuid?: string,
  ): void {
    order(this.#failures, step, { what: error, uuid });
  }

  /** The next time that the step is taken it waits. @param uuid - for this guest; default: for any */
  hold(step: VirtStep, uuid?: string): Hold {
    let reached = (): void => undefined;
    let release = (): void => undefined;
    const whenReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    order(this.#gates, step, { what: { reached, open }, uuid });
    return { reached: whenReached, release };
  }

  /** Takes a step: waits for its gate, or a stall, fails when it was ordered to, and lasts `ms` unless ordered otherwise. */
  async take(step: VirtStep, ms: number, { guest, signal }: StepOptions = {}): Promise<void> {
    const gate = taken(this.#gates, step, guest);
    if (gate) {
      gate.reached();
      await unlessAborted(gate.open, signal);
    }
    while (this.#orderFor(guest).stallAt?.has(step)) await this.#pause(STALL_LOOK_MS, signal);
    const failure = taken(this.#failures, step, guest);
    if (failure) throw failure;
    await this.#last(step, ms, this.#orderFor(guest), signal);
  }

  async #last(
    step: VirtStep,
    ms: number,
    { failAt, durationsMs }: FakeOrder,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (failAt?.has(step)) throw new HypervisorError(`${step} failed, as ordered`);
    if (signal?.aborted) throw aborted(signal);
    const lastsMs = durationsMs?.get(step) ?? ms;
    if (lastsMs > 0) await this.#pause(lastsMs, signal);
  }

  #orderFor(guest: GuestNames | undefined): FakeOrder {
    return guest ? this.#orders.of(guest) : {};
  }
}

function order<What>(all: Map<VirtStep, Once<What>[]>, step: VirtStep, one: Once<What>): void {
  all.set(step, [...(all.get(step) ?? []), one]);
}

function taken<What>(
  all: ReadonlyMap<VirtStep, Once<What>[]>,
  step: VirtStep,
  guest: GuestNames | undefined,
): What | undefined {
  const ordered = all.get(step);
  const index = ordered?.findIndex(({ uuid }) => uuid === undefined || uuid === guest?.uuid) ?? -1;
  return index < 0 ? undefined : ordered?.splice(index, 1)[0]?.what;
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
