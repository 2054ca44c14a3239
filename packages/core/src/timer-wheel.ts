/** Ticks are this far apart: an entry fires at its time or up to one tick later, never before. */
const TICK_MS = 8;
const SLOTS = 1024;
const MASK = SLOTS - 1;

/**
 * Something that happens at a time unless it is taken out before. Entries are links of the wheel's lists, so adding and
 * removing one costs no memory and no search.
 */
export abstract class TimerEntry {
  /** Tick at which the entry is due; negative while it is in no wheel. Managed by the wheel. */
  tick = -1;
  /** The entry before it in its slot's list. Managed by the wheel. */
  before: TimerEntry | undefined;
  /** The entry after it in its slot's list. Managed by the wheel. */
  after: TimerEntry | undefined;

  /** Called once, when the time has come. Must not throw. */
  abstract onTime(): void;
}

/**
 * One timer for any number of deadlines: a hashed wheel whose only `setTimeout` is armed for the next slot that holds
 * anything. An empty wheel keeps no process alive.
 */
export class TimerWheel {
  readonly #slots: (TimerEntry | undefined)[] = new Array<TimerEntry | undefined>(SLOTS).fill(undefined);
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #armedTick = Infinity;

  /** Entries that wait. */
  get size(): number {
    return this.#size;
  }

  /** Puts `entry` in, to be called `delayMs` from now. An entry is in one wheel, once. */
  add(entry: TimerEntry, delayMs: number): void {
    this.remove(entry);
    const tick = Math.floor((performance.now() + Math.max(0, delayMs)) / TICK_MS) + 1; // never the tick that is on
    const slot = tick & MASK;
    const head = this.#slots[slot];
    entry.tick = tick;
    entry.before = undefined;
    entry.after = head;
    if (head) head.before = entry;
    this.#slots[slot] = entry;
    this.#size += 1;
    if (tick < this.#armedTick) this.#arm(tick);
    else if (this.#size === 1) this.#timer?.ref();
  }

  /** Takes `entry` out; nothing happens when it is not in. */
  remove(entry: TimerEntry): void {
    if (entry.tick < 0) return;
    if (entry.after) entry.after.before = entry.before;
    if (entry.before) entry.before.after = entry.after;
    else this.#slots[entry.tick & MASK] = entry.after;
    entry.tick = -1;
    entry.before = undefined;
    entry.after = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#timer?.unref(); // left armed: calls come and go, a timer need not
  }

  #arm(tick: number): void {
    clearTimeout(this.#timer);
    this.#armedTick = tick;
    const delayMs = Math.max(1, tick * TICK_MS - performance.now());
    this.#timer = setTimeout(this.#onTimer, Math.min(delayMs, 0x7fffffff));
  }

  readonly #onTimer = (): void => {
    const from = this.#armedTick;
    const now = Math.floor(performance.now() / TICK_MS);
    this.#timer = undefined;
    this.#armedTick = -1; // what is added meanwhile arms nothing: it is seen below
    // Every slot that the clock has passed, each once: a long stall is at most one turn of the wheel.
    for (let tick = Math.min(from, now), left = SLOTS; tick <= now && left > 0; tick += 1, left -= 1) {
      this.#fire(tick & MASK, now);
    }
    this.#armedTick = Infinity;
    if (this.#size > 0) this.#arm(this.#nextTick(now));
  };

  #fire(slot: number, now: number): void {
    let entry = this.#slots[slot];
    const due: TimerEntry[] = [];
    for (; entry; entry = entry.after) {
      if (entry.tick <= now) due.push(entry);
    }
    for (const each of due) {
      if (each.tick < 0 || each.tick > now) continue; // removed, or put in again, by one that fired before it
      this.remove(each);
      callSafely(each);
    }
  }

  /** The next tick whose slot holds an entry, perhaps one of a later turn. */
  #nextTick(now: number): number {
    for (let step = 1; step <= SLOTS; step += 1) {
      if (this.#slots[(now + step) & MASK]) return now + step;
    }
    return now + SLOTS;
  }
}

/** A fault in one entry is an uncaught exception, as in a timer of its own, but never stops the wheel. */
function callSafely(entry: TimerEntry): void {
  try {
    entry.onTime();
  } catch (error) {
    setImmediate(() => {
      throw error;
    });
  }
}

/** The wheel that all transports of the process share. */
export const timers: TimerWheel = new TimerWheel();
