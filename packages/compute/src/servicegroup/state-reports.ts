import type { Logger } from '@ebbgate/core';
import type { ServiceSnapshot } from '@ebbgate/service';
import type { ServiceRecord, ServiceReport, ServiceRepository } from '../db/repositories.js';
import { RecordNotFoundError } from '../errors.js';
import { drainSightOf } from './drain-sight.js';

/** Who reports, and where it is told. */
export interface StateReportsOptions {
  readonly services: Pick<ServiceRepository, 'register' | 'report'>;
  /** What stays the same in all reports. */
  readonly service: Omit<ServiceReport, 'state' | 'drain' | 'reportedAtMs'>;
  readonly logger: Logger;
  /** Milliseconds of a clock that only goes forward; default `performance.now`. */
  readonly now?: () => number;
}

/** From one reminder of a record that is gone to the next. */
const REMIND_MS = 3_600_000;

/**
 * The reports of one run of a daemon. The first registers it: makes its record, when there is none. The later ones do not:
 * a record that was deleted meanwhile stays so, with one line in the log and rare reminders, until the daemon is started
 * again (COMP-18).
 */
export class StateReports {
  readonly #options: StateReportsOptions;
  readonly #now: () => number;
  #registered = false;
  /** When it was last said that the record is gone; undefined while it is there. */
  #saidGoneAtMs: number | undefined;

  constructor(options: StateReportsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Resolves with the record as it is then; undefined when it was deleted. Rejects as the records do. */
  async tell(snapshot: ServiceSnapshot): Promise<ServiceRecord | undefined> {
    const { services, service, logger } = this.#options;
    const { state } = snapshot;
    const report = { ...service, state, drain: drainSightOf(snapshot), reportedAtMs: Date.now() };
    try {
      const record = await (this.#registered ? services.report(report) : services.register(report));
      this.#registered = true;
      if (this.#saidGoneAtMs !== undefined) logger.info({}, 'The record of this service is there again');
      this.#saidGoneAtMs = undefined;
      return record;
    } catch (error) {
      if (!(error instanceof RecordNotFoundError)) throw error;
      this.#sayGone();
      return undefined;
    }
  }

  #sayGone(): void {
    const nowMs = this.#now();
    if (this.#saidGoneAtMs !== undefined && nowMs - this.#saidGoneAtMs < REMIND_MS) return;
    this.#saidGoneAtMs = nowMs;
    const { binary, host } = this.#options.service;
    this.#options.logger.error(
      { binary, host },
      'The record of this service was deleted, and it is not made again: start the service again to register it',
    );
  }
}
