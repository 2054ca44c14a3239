import type { ServiceRecord } from '../db/repositories.js';

/** How liveness is judged. All may be left out. */
export interface LivenessOptions {
  /** A service that has not reported for longer is down; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** Milliseconds since the epoch, by the clock of whoever asks; default `Date.now`. */
  readonly now?: () => number;
  /** Milliseconds of a clock that nobody sets; default `performance.now`. */
  readonly steadyNow?: () => number;
}

/** By the clock that nobody sets. */
interface Sight {
  readonly reportCount: number;
  /** When we looked. */
  readonly lookedAtMs: number;
  /** When the service reported, at the latest; undefined while we have seen no report come. */
  readonly reportedAtMs: number | undefined;
}

/**
 * Which services are up. Only their own reports count (COMP-11), and `forced_down` wins over them (COMP-12). A report that
 * came between two looks is dated by when we looked, so that no host is taken for dead because its clock, or ours, is wrong
 * or was set; until one has come the time in the report decides, ahead of us as behind us (FD-9).
 */
export class Liveness {
  readonly #limitMs: number;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  /** By the uuid of the service: two cells may have hosts of one name. */
  readonly #sights = new Map<string, Sight>();

  constructor({
    serviceDownTimeMs = 60_000,
    now = Date.now,
    steadyNow = () => performance.now(),
  }: LivenessOptions = {}) {
    this.#limitMs = serviceDownTimeMs;
    this.#now = now;
    this.#steadyNow = steadyNow;
  }

  /** Is the service up, as its record tells now? Its being disabled or draining is another matter (COMP-16). */
  isUp(service: ServiceRecord): boolean {
    const ageMs = this.#look(service);
    if (service.forcedDown || service.state === 'exited') return false;
    return Math.abs(ageMs) <= this.#limitMs;
  }

  /** @returns how old its last report is; below 0 when that is dated ahead of us */
  #look(service: ServiceRecord): number {
    const now = this.#steadyNow();
    const before = this.#sights.get(service.uuid);
    const reportedAtMs = before && this.#ownTime(before, service, now);
    this.#sights.set(service.uuid, { reportCount: service.reportCount, lookedAtMs: now, reportedAtMs });
    return reportedAtMs === undefined ? this.#now() - service.reportedAtMs : now - reportedAtMs;
  }

  #ownTime(before: Sight, service: ServiceRecord, now: number): number | undefined {
    if (service.reportCount === before.reportCount) return before.reportedAtMs;
    // It has reported since our last look. When that was long ago the report may be old too.
    return now - before.lookedAtMs <= this.#limitMs ? now : undefined;
  }
}
