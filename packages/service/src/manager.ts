import type { MaybePromise } from '@ebbgate/core';
import type { PeriodicTask } from './periodic.js';
import type { ServiceSnapshot } from './snapshot.js';
import type { TaskSnapshot } from './task-registry.js';

/**
 * What a service does besides answering requests. All members may be left out.
 *
 * The signals abort when the step has to end: at the time limit, or when a drain begins while the service starts.
 */
export interface Manager {
  /**
   * Runs first of all, and holds the start until it resolves: nothing else happens meanwhile, but that the health
   * endpoints answer. `hold` tells that it will take a while, and why: from then on the reason is in the snapshot, and
   * the state reports go out, with the state `starting`. What it throws fails the start.
   */
  gate?(hold: (reason: string) => void, signal: AbortSignal): MaybePromise<void>;
  /** Runs before the servers listen: recovers what an earlier run has left, opens what the endpoints need. */
  initHost?(signal: AbortSignal): MaybePromise<void>;
  /**
   * Runs in every drain, after the tasks (also when they overran, when other steps failed, and when the start did), for
   * at most `cleanupTimeoutMs`. Never at the same time as `initHost`, unless that did not end in time.
   */
  cleanupHost?(signal: AbortSignal): MaybePromise<void>;
  /** Work that is repeated while the service runs; none is begun in a drain. */
  readonly periodic?: readonly PeriodicTask[];
  /**
   * Tells others how this service does: while its start is held, before it is ready, every `reportIntervalMs`, when a drain begins, and as the
   * drain's last act with the state `exited`. What it throws is logged; the next report comes all the same.
   */
  reportState?(state: ServiceSnapshot, signal: AbortSignal): MaybePromise<void>;
}

/** Where a drain writes down what it could not finish, for the next start to take up. */
export interface DrainJournal {
  /** Called once, and only when something is left; waited for as long as the overall limit allows. */
  write(unfinished: readonly TaskSnapshot[]): MaybePromise<void>;
}
