import { ConfigurationError, MessagingTimeoutError } from './errors.js';
import { refuseUnknown } from './known-options.js';
import { onAbort } from './on-abort.js';
import { TimerEntry, timers } from './timer-wheel.js';

/** How long a wait may take. Both may be left out: then it takes as long as it takes. */
export interface WaitOptions {
  /** Milliseconds, at least 0. */
  readonly timeoutMs?: number;
  /** When it aborts, the wait rejects with the signal's reason. What was waited for goes on. */
  readonly signal?: AbortSignal;
}

const NAMES = ['timeoutMs', 'signal'];

class Limit extends TimerEntry {
  readonly #onTime: () => void;

  constructor(onTime: () => void) {
    super();
    this.#onTime = onTime;
  }

  override onTime(): void {
    this.#onTime();
  }
}

/** Checks a time given by a user: a finite number of milliseconds, at least `min`. */
export function checkMs(name: string, value: number, min = 0): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= min) return value;
  throw new ConfigurationError(
    `${name} must be a finite number of milliseconds of at least ${String(min)}, not ${String(value)}`,
  );
}

/**
 * `work`, or what `onTimeout` makes when the time is over first, or the signal's reason. Leaves neither timer nor
 * listener behind. `work` itself goes on; if it fails later, nobody hears of it. Rejects with ConfigurationError
 * (`ERR_CONFIGURATION`) for a bad time or an unknown option.
 *
 * @param onTimeout - needed only where there is a time limit; default: a MessagingTimeoutError (`ERR_TIMEOUT`)
 */
export function within<T>(
  work: Promise<T>,
  options: WaitOptions,
  onTimeout: () => Error = notInTime,
): Promise<T> {
  const { timeoutMs, signal } = options;
  if (Object.keys(options).length === 0) return work;
  return new Promise<T>((resolve, reject) => {
    const fail: (reason: unknown) => void = reject; // passed on as it came, whatever it is
    const limit = new Limit(() => {
      end();
      try {
        fail(onTimeout());
      } catch (error) {
        fail(error);
      }
    });
    const aborted = (): void => {
      end();
      fail(signal?.reason);
    };
    let leave: () => void = () => undefined;
    const end = (): void => {
      timers.remove(limit);
      leave();
    };
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        fail(error);
      },
    );
    refuseUnknown(options, NAMES);
    if (timeoutMs !== undefined) checkMs('timeoutMs', timeoutMs);
    if (signal?.aborted) {
      aborted();
      return;
    }
    if (signal) leave = onAbort(signal, aborted);
    if (timeoutMs !== undefined) timers.add(limit, timeoutMs);
  });
}

function notInTime(): Error {
  return new MessagingTimeoutError('It was not done in time');
}
