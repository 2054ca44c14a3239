import {
  BackpressureError,
  type MaybePromise,
  redactedCause,
  TimerEntry,
  timers,
  type TypedEvents,
} from '@ebbgate/core';

/** What was not delivered in fire-and-forget mode. */
export interface Undelivered {
  /** `dropped`: there were too many before it, and it was never sent; `failed`: it was not delivered. */
  readonly reason: 'dropped' | 'failed';
  /** How many, since this was told last. */
  readonly count: number;
  /** What the last of them failed with. */
  readonly error: Error;
}

/** What a notifier tells. */
export interface NotifierEvents {
  /** Told at once for the first, then at most once a second for all that follow. When nobody listens it is logged. */
  undelivered: Undelivered;
}

/** Counts of a notifier since it was made; those prepared from it count with it. */
export interface NotifierCounts {
  /** Delivered: the broker has stored them. */
  readonly sent: number;
  /** Not delivered. */
  readonly failed: number;
  /** Never sent, as too many were pending. */
  readonly dropped: number;
  /** Sent and not yet delivered, in fire-and-forget mode. */
  readonly pending: number;
}

const TELL_EVERY_MS = 1000;
const NONE = Object.freeze({ count: 0, error: undefined });

/** Of one reason: what was not told yet. */
class Report extends TimerEntry {
  readonly #tell: (count: number, error: Error) => void;
  #untold: { readonly count: number; readonly error: Error | undefined } = NONE;

  constructor(tell: (count: number, error: Error) => void) {
    super();
    this.#tell = tell;
  }

  add(error: Error): void {
    this.#untold = { count: this.#untold.count + 1, error };
  }

  /** Tells, unless it has told not long ago: then later. */
  tellSoon(): void {
    if (this.tick < 0) this.onTime();
  }

  /** Tells, and not again for a while; when there was nothing to tell, the next one is told at once. */
  override onTime(): void {
    const isQuiet = this.#untold === NONE;
    this.flush();
    if (!isQuiet) timers.add(this, TELL_EVERY_MS);
  }

  /** Tells what was not told yet. */
  flush(): void {
    timers.remove(this);
    const { count, error } = this.#untold;
    this.#untold = NONE;
    if (error) this.#tell(count, error);
  }
}

/** Notifications that nobody waits for: so many at most, and what becomes of them is counted and told. */
export class Outbox {
  readonly #maxPending: number;
  readonly #reports: Readonly<Record<Undelivered['reason'], Report>>;
  readonly #counts = { sent: 0, failed: 0, dropped: 0, pending: 0 };
  #whenEmpty: (() => void)[] = [];
  #isEnded = false;

  constructor(maxPending: number, events: Pick<TypedEvents<NotifierEvents>, 'emit'>) {
    this.#maxPending = maxPending;
    const report = (reason: Undelivered['reason']): Report =>
      new Report((count, error) => {
        events.emit('undelivered', { reason, count, error });
      });
    this.#reports = { dropped: report('dropped'), failed: report('failed') };
  }

  get counts(): NotifierCounts {
    return { ...this.#counts };
  }

  /** Sends one unless too many are pending. Never throws. */
  post(send: () => MaybePromise<void>): void {
    if (this.#counts.pending >= this.#maxPending) {
      const most = `${String(this.#maxPending)} notifications are pending (maxPending)`;
      this.#report('dropped', new BackpressureError(most));
      return;
    }
    try {
      const sent = send();
      if (sent === undefined) this.#counts.sent += 1;
      else this.#follow(sent);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** One that somebody waits for was delivered. */
  onSent(): void {
    this.#counts.sent += 1;
  }

  /** … or was not. */
  onFailed(): void {
    this.#counts.failed += 1;
  }

  /** Resolves when none is pending. */
  whenEmpty(): Promise<void> {
    if (this.#counts.pending === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Its transport is closed: what was not told yet is told as soon as nothing is pending, and no timer stays. */
  end(): void {
    this.#isEnded = true;
    this.#flushReports();
  }

  #flushReports(): void {
    this.#reports.dropped.flush();
    this.#reports.failed.flush();
  }

  #report(reason: Undelivered['reason'], error: Error): void {
    this.#counts[reason] += 1;
    this.#reports[reason].add(error);
    if (!this.#isEnded) this.#reports[reason].tellSoon();
    else if (this.#counts.pending === 0) this.#flushReports();
  }

  #follow(sent: Promise<void>): void {
    this.#counts.pending += 1;
    sent.then(
      () => {
        this.#counts.sent += 1;
        this.#leave();
      },
      (error: unknown) => {
        this.#failed(error);
        this.#leave();
      },
    );
  }

  #leave(): void {
    this.#counts.pending -= 1;
    if (this.#counts.pending > 0) return;
    if (this.#isEnded) this.#flushReports();
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #failed(error: unknown): void {
    if (error instanceof BackpressureError) this.#report('dropped', error);
    else this.#report('failed', redactedCause(error));
  }
}
