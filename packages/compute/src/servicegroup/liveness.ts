import type { ServiceRecord } from '../db/repositories.js';

/** How liveness is judged. All may be left out. */
export interface LivenessOptions {
  /** A service that has not reported for longer is down; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** Milliseconds since the epoch, by the clock of whoever asks; default `Date.now`. */
  readonly now?: () => number;
}

interface Sight {
  readonly reportCount: number;
  /** When we looked. */
  readonly lookedAtMs: number;
  /** When the service reported, at the latest, by our own clock; undefined while we have seen no report come. */
  readonly reportedAtMs: number | undefined;
}

/**
 * Which services are up. Only their own reports count (COMP-11), and `forced_down` wins over them (COMP-12). A report that
 * came between two looks is dated by our own clock, so that a host whose clock is wrong is not taken for dead; until one
 * has come the time in the report decides, ahead of us as behind us (FD-9).
 */
export class Liveness {
  readonly #limitMs: number;
  readonly #now: () => number;
  readonly #sights = new Map<string, Sight>();

  constructor({ serviceDownTimeMs = 60_000, now = Date.now }: LivenessOptions = {}) {
    this.#limitMs = serviceDownTimeMs;
    this.#now = now;
  }

  /** Is the service up, as its record tells now? Its being disabled or draining is another matter (COMP-16). */
  isUp(service: ServiceRecord): boolean {
    const seenAtMs = this.#look(service);
    if (service.forcedDown || service.state === 'exited') return false;
    return Math.abs(this.#now() - seenAtMs) <= this.#limitMs;
  }

  #look(service: ServiceRecord): number {
    const key = `${service.binary}/${service.host}`;
    const now = this.#now();
    const before = this.#sights.get(key);
    const reportedAtMs = before && this.#ownTime(before, service, now);
    this.#sights.set(key, { reportCount: service.reportCount, lookedAtMs: now, reportedAtMs });
    return reportedAtMs ?? service.reportedAtMs;
  }

  #ownTime(before: Sight, service: ServiceRecord, now: number): number | undefined {
    if (service.reportCount === before.reportCount) return before.reportedAtMs;
    // It has reported since our last look. When that was long ago the report may be old too.
    return now - before.lookedAtMs <= this.#limitMs ? now : undefined;
  }
}
