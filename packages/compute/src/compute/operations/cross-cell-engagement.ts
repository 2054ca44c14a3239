import type { HeldOperations } from '../held-operations.js';
import type { HostContext } from '../host-context.js';
import { MOVING, type ResizeJob } from './resize-job.js';

/** So many looks in a row at a record that nobody has touched: the conductor that drives the move is gone. */
export const SILENT_LOOKS = 6;

/**
 * What a destination holds open from `prep_snapshot_based_resize_at_dest` to the end of
 * `finish_snapshot_based_resize_at_dest`, so that a drain waits for what comes between (GS-100). The conductor that drives
 * the move touches its record again and again; when it has ended, or died, nothing comes any more.
 */
export class CrossCellEngagement {
  readonly #host: HostContext;
  readonly #held: HeldOperations;

  constructor(host: HostContext, held: HeldOperations) {
    this.#host = host;
    this.#held = held;
  }

  open(job: ResizeJob): void {
    const record = {
      name: 'snapshot_based_resize_at_dest',
      instance: job.uuid,
      requestId: job.context.requestId ?? null,
    };
    let touched: number | undefined;
    let silentLooks = 0;
    this.#held.open(keyOf(job.migrationUuid), record, async () => {
      const { records, host, locks } = this.#host;
      const migration = await records.migrations.get(job.migrationUuid).catch((error: unknown) => {
        silentLooks = 0; // while the records are away the conductor cannot touch them either
        throw error;
      });
      if (!MOVING.has(migration.get('status')) || migration.find('dest_compute') !== host) return true;
      if (locks.isBusy(job.uuid)) return false; // we are at it ourselves
      const now = (migration.find('updated_at') ?? null)?.getTime();
      silentLooks = now === touched ? silentLooks + 1 : 0;
      touched = now;
      return silentLooks >= SILENT_LOOKS;
    });
  }

  /** Does nothing when none is open for that migration. */
  close(migrationUuid: string, error?: unknown): void {
    this.#held.close(keyOf(migrationUuid), error);
  }
}

function keyOf(migrationUuid: string): string {
  return `snapshot_based_resize_at_dest:${migrationUuid}`;
}
