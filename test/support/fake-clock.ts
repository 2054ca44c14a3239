import { TimerEntry, timers } from '@ebbgate/core';
import { type Clock, install } from '@sinonjs/fake-timers';

/** Long enough for what was started on the clock to end. */
const LAST_MS = 10_000;

/** Its firing leaves an otherwise empty timer wheel without an armed timer, which would belong to the other clock. */
class Disarming extends TimerEntry {
  readonly #fired: () => void;

  constructor(fired: () => void) {
    super();
    this.#fired = fired;
  }

  override onTime(): void {
    this.#fired();
  }
}

function disarmed(): Promise<void> {
  return new Promise((resolve) => {
    timers.add(new Disarming(resolve), 0);
  });
}

/**
 * Runs `work` on a clock that stands until `work` moves it, and leaves the timer wheel as it was. Promises go on as
 * always; `turn()` works too.
 */
export async function onFakeClock(work: (clock: Clock) => Promise<void>): Promise<void> {
  await disarmed();
  // What stays in the wheel would be armed on a clock that is gone afterwards, and nothing would ever fire again.
  if (timers.size > 0)
    throw new Error(`The timer wheel holds ${String(timers.size)} entries of an earlier test`);
  const clock = install({
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'],
    shouldClearNativeTimers: true,
    now: Date.now(),
  });
  try {
    await work(clock);
  } finally {
    await clock.tickAsync(LAST_MS);
    const end = disarmed();
    await clock.tickAsync(50);
    await end;
    clock.uninstall();
  }
}
