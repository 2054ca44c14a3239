import type { DrainReport } from './drain-report.js';

/**
 * What the exit code of a service tells. A supervisor that restarts on failure should look at 1; 3 and 4 ask for a
 * look at the log.
 */
export const exitCodes: {
  /** Everything that had begun is complete, or was aborted and put back, and its replies are out. */
  readonly clean: 0;
  /** The service could not start. */
  readonly startFailed: 1;
  /** Drained in order, but work was left, or a step failed. */
  readonly unfinished: 3;
  /** `graceful_shutdown_timeout` ended the drain, or SIGALRM did. */
  readonly timedOut: 4;
  /** SIGINT during a drain. */
  readonly interrupted: 130;
} = Object.freeze({ clean: 0, startFailed: 1, unfinished: 3, timedOut: 4, interrupted: 130 });

/** The exit code for the end of a drain: 0, 1, 3 or 4. */
export function exitCodeOf(report: Pick<DrainReport, 'outcome'>): number {
  switch (report.outcome) {
    case 'clean':
      return exitCodes.clean;
    case 'start-failed':
      return exitCodes.startFailed;
    case 'unfinished':
      return exitCodes.unfinished;
    case 'timed-out':
      return exitCodes.timedOut;
  }
}
