import type { EventEmitter } from 'node:events';
import type { Runnable } from 'mocha';

/**
 * So many times as long as they say tests may take, and wait for what has to come: 1, or `EBBGATE_TEST_PATIENCE` where
 * tests do not have the machine for themselves.
 */
export const PATIENCE = Number(process.env['EBBGATE_TEST_PATIENCE'] ?? 1);

/** Stretches the limits of the tests and hooks of a run. */
export function stretchLimits(runner: Pick<EventEmitter, 'on'>, patience: number = PATIENCE): void {
  const stretched = new WeakSet<Runnable>(); // some hooks run before each test
  const stretch = (runnable: Runnable): void => {
    if (stretched.has(runnable)) return;
    stretched.add(runnable);
    runnable.timeout(runnable.timeout() * patience);
  };
  runner.on('test', stretch);
  runner.on('hook', stretch);
}
