import type { Logger, MaybePromise } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import type { Manager } from './manager.js';
import type { ServiceSnapshot } from './snapshot.js';

/** How a reporter works. */
export interface StateReporterOptions {
  /** Sends one report. */
  readonly send: (state: ServiceSnapshot, signal: AbortSignal) => MaybePromise<void>;
  /** What there is to report. */
  readonly snapshot: () => ServiceSnapshot;
  /** From one report to the next, and the longest that one may take. */
  readonly intervalMs: number;
  readonly logger: Logger;
}

/** While the first report fails it is tried again after so long, then twice as long, up to the interval. */
const FIRST_RETRY_MS = 100;

/**
 * Tells others how the service does, again and again; survives every failure of a report, and logs only when that
 * changes (COMP-10). A report that hangs is given up after one interval. Never two at a time. Keeps no process alive.
 */
export class StateReporter {
  readonly #options: StateReporterOptions;
  #state: 'idle' | 'first' | 'reporting' | 'ended' = 'idle';
  #timer: NodeJS.Timeout | undefined;
  /** The report that is under way, and how to give it up. */
  #inFlight: { readonly done: Promise<boolean>; readonly limit: AbortController } | undefined;
  #again = false;
  #failing = false;

  constructor(options: StateReporterOptions) {
    this.#options = options;
  }

  /** Reports go out from now on, as the service is: before the first with the state `running`. */
  begin(): void {
    this.#state = 'reporting';
    void this.#report();
  }

  /**
   * Resolves when the first report, with the state `running`, is out: only then may the service call itself ready
   * (COMP-09). Tries until it is, or until the signal aborts; then it rejects with the signal's reason.
   */
  async first(signal: AbortSignal): Promise<void> {
    this.#state = 'first';
    clearTimeout(this.#timer);
    await this.#inFlight?.done;
    for (let delayMs = FIRST_RETRY_MS; !(await this.#send('running')); delayMs *= 2) {
      await pause(Math.min(delayMs, this.#options.intervalMs), signal);
    }
    signal.throwIfAborted();
    this.#state = 'reporting';
    this.#schedule();
  }

  /** Something has changed: a report now, or right after the one that is under way. */
  poke(): void {
    if (this.#state === 'reporting') void this.#report();
  }

  /**
   * Ends the reports. One that is under way gets half of `limitMs` to end, so that the last, with the state `exited`,
   * comes last. Sends none when there has not been a first. Rejects when it did not get out.
   */
  async last(limitMs: number): Promise<void> {
    const begun = this.#state !== 'idle';
    this.#state = 'ended';
    clearTimeout(this.#timer);
    if (!begun) return;
    const before = this.#inFlight;
    if (before) {
      const giveUp = setTimeout(() => {
        before.limit.abort(new Error('the last report goes first'));
      }, limitMs / 2);
      await before.done;
      clearTimeout(giveUp);
    }
    if (!(await this.#send('exited'))) throw new Error('The last state report did not get out');
  }

  /** Ends the reports, without a last one; what is under way is given up. */
  end(): void {
    this.#state = 'ended';
    clearTimeout(this.#timer);
    this.#inFlight?.limit.abort(new Error('no more reports are sent'));
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#report(), this.#options.intervalMs);
    this.#timer.unref();
  }

  async #report(): Promise<void> {
    if (this.#inFlight) {
      this.#again = true;
      return;
    }
    await this.#send();
    const again = this.#again;
    this.#again = false;
    if (this.#state !== 'reporting') return;
    if (again) await this.#report();
    else this.#schedule();
  }

  /** One report; true when it is out. Never rejects. */
  async #send(as?: 'running' | 'exited'): Promise<boolean> {
    const limit = new AbortController();
    const done = this.#attempt(as, limit).then(
      () => this.#onOutcome(undefined),
      (error: unknown) => this.#onOutcome({ error }),
    );
    this.#inFlight = { done, limit };
    try {
      return await done;
    } finally {
      this.#inFlight = undefined;
    }
  }

  async #attempt(as: 'running' | 'exited' | undefined, limit: AbortController): Promise<void> {
    const { send, snapshot, intervalMs } = this.#options;
    const now = snapshot();
    const shown = as === undefined ? now : { ...now, state: as, ready: as === 'running' };
    const givenUp = new Promise<never>((_resolve, reject) => {
      limit.signal.addEventListener('abort', () => {
        reject(limit.signal.reason as Error); // an Error of ours, see the callers of abort()
      });
    });
    const timer = setTimeout(() => {
      limit.abort(new Error(`no answer within ${intervalMs} ms`));
    }, intervalMs);
    timer.unref();
    try {
      await Promise.race([send(shown, limit.signal), givenUp]);
    } finally {
      clearTimeout(timer);
    }
  }

  #onOutcome(failure: { readonly error: unknown } | undefined): boolean {
    const { logger } = this.#options;
    if (failure && !this.#failing) {
      logger.warn({ error: describeError(failure.error) }, 'The state report fails; it is tried again');
    } else if (!failure && this.#failing) {
      logger.info({}, 'The state report works again');
    }
    this.#failing = failure !== undefined;
    return !this.#failing;
  }
}

/** Sends what the manager reports; undefined when it reports nothing. */
export function stateReporterOf(
  manager: Manager,
  parts: Omit<StateReporterOptions, 'send'>,
): StateReporter | undefined {
  if (!manager.reportState) return undefined;
  return new StateReporter({ ...parts, send: (state, signal) => manager.reportState?.(state, signal) });
}

/** Resolves after a while, or rejects with the signal's reason. */
function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error); // whatever the reason is, it is passed on
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
