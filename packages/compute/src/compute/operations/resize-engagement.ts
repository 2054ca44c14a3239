import type { HeldOperations } from '../held-operations.js';
import type { HostContext } from '../host-context.js';
import { MOVING, type ResizeJob } from './resize-job.js';

/**
 * What a destination holds open from `prep_resize` to the end of `finish_resize`, so that a drain waits for what comes
 * between (GS-100). One for each migration: a second message about the same opens none, and ends none.
 */
export class ResizeEngagement {
  readonly #host: HostContext;
  readonly #held: HeldOperations;

  constructor(host: HostContext, held: HeldOperations) {
    this.#host = host;
    this.#held = held;
  }

  /** @param onOver - does what the last message would have done, when the records tell that none comes any more */
  open(job: ResizeJob, onOver: () => Promise<void>): void {
    const record = {
      name: 'prep_resize_at_dest',
      instance: job.uuid,
      requestId: job.context.requestId ?? null,
    };
    this.#held.open(keyOf(job.migrationUuid), record, async () => {
      if (this.#host.locks.isBusy(job.uuid)) return false; // we are at it ourselves, and the records may not tell yet
      if (!(await this.#isOver(job))) return false;
      await onOver();
      return true;
    });
  }

  /** Does nothing when none is open for that migration. */
  close(migrationUuid: string, error?: unknown): void {
    this.#held.close(keyOf(migrationUuid), error);
  }

  /** For a message that failed: what is open may be that of an earlier one, which goes on. */
  async closeIfOver(job: ResizeJob, error: unknown): Promise<void> {
    if (await this.#isOver(job)) this.close(job.migrationUuid, error);
  }

  /**
   * Nothing of it comes here any more: the records say that it has ended or goes elsewhere; or its source is down before
   * it has sent the disks, which it will take back when it comes up again.
   */
  async #isOver({ migrationUuid, source }: ResizeJob): Promise<boolean> {
    const { records, host, liveness } = this.#host;
    const migration = await records.migrations.get(migrationUuid);
    if (!MOVING.has(migration.get('status')) || migration.find('dest_compute') !== host) return true;
    if (migration.get('status') === 'post-migrating') return false;
    return !liveness.isUp(await records.services.get('compute', source));
  }
}

function keyOf(migrationUuid: string): string {
  return `prep_resize_at_dest:${migrationUuid}`;
}
