import { within } from '@ebbgate/core';
import { OperationAbortedError } from '../../errors.js';
import { isCold, type Migration } from '../../objects/migration.js';
import type { HeldOperations } from '../held-operations.js';
import type { HostContext } from '../host-context.js';
import { SILENT_LOOKS } from './cross-cell-engagement.js';
import { isNewestMove } from './resize-job.js';

/** How long a drain waits for the records at its start. What they say later opens nothing: the drain may be over. */
const LOOK_LIMIT_MS = 5_000;

/** Statuses in which a source still has its part before it. */
const AHEAD = ['pre-migrating', 'reverting', 'reverted'] as const;

/**
 * What a source that drains holds open for each cold move from it, or back to it, in which its part has not come yet
 * (GS-5, GS-68): the records name it before any message does. Its part closes it; or the records, when the other side has
 * ended the move or is down.
 */
export class SourceEngagement {
  readonly #host: HostContext;
  readonly #held: HeldOperations;
  #isDraining = false;

  constructor(host: HostContext, held: HeldOperations) {
    this.#host = host;
    this.#held = held;
  }

  /**
   * A drain has begun: it waits for the look at the records. Never rejects.
   * @param told - settles once the records say that this host drains: no move from here is begun any more
   */
  async drainBegins(told: Promise<unknown> | undefined): Promise<void> {
    this.#isDraining = !this.#host.lifetime.aborted;
    await this.#whileDraining(async () => {
      await this.#look();
      await told;
      await this.#look();
    });
  }

  /** For a message while it drains: a move may have begun since. Does nothing before. Never rejects. */
  lookAgain(): Promise<void> {
    return this.#whileDraining(() => this.#look());
  }

  async #whileDraining(look: () => Promise<void>): Promise<void> {
    const { tasks, lifetime, logger } = this.#host;
    if (!this.#isDraining) return;
    const limit = { timeoutMs: LOOK_LIMIT_MS, signal: lifetime };
    const noAnswer = (): Error => new OperationAbortedError('The records have not answered');
    try {
      await tasks.track({ name: 'moves_from_here', kind: 'handler' }, () => within(look(), limit, noAnswer));
    } catch (error) {
      this.#isDraining = false;
      logger.warn({ err: error }, 'Which moves still need this host could not be read');
    }
  }

  async #look(): Promise<void> {
    for (const migration of await this.#ahead()) await this.#open(migration);
  }

  /** Its part has come, and is tracked for itself. Does nothing when none is open for that migration. */
  close(migration: Migration | null): void {
    if (migration) this.#held.close(keyOf(migration.get('uuid')));
  }

  async #ahead(): Promise<readonly Migration[]> {
    const { migrations, instances } = this.#host.records;
    const mine = { source_compute: this.#host.host };
    const found = [
      ...(await migrations.find({ ...mine, status: 'pre-migrating' })),
      ...(await migrations.find({ ...mine, status: 'reverting' })),
    ];
    // A host has many that are reverted: only those count whose instance is on its way back.
    for (const instance of await instances.find({ task_state: 'resize_reverting' })) {
      const its = { ...mine, instance_uuid: instance.get('uuid'), status: 'reverted' } as const;
      found.push(...(await migrations.find(its)));
    }
    return found.filter(isCold);
  }

  async #open(migration: Migration): Promise<void> {
    const uuid = migration.get('uuid');
    const instance = migration.get('instance_uuid');
    const isOwn = migration.find('dest_compute') === this.#host.host;
    if (!isOwn && this.#host.locks.isBusy(instance)) return; // its part has come
    const isOver = this.#looker(uuid);
    if ((await isOver()) || !this.#isDraining) return;
    this.#held.open(keyOf(uuid), { name: 'cold_move_at_source', instance, requestId: null }, isOver);
  }

  /** Each look knows what the one before has seen. */
  #looker(migrationUuid: string): () => Promise<boolean> {
    const { records } = this.#host;
    let seen: number | undefined;
    let silentLooks = -1;
    return async () => {
      const migration = await records.migrations.get(migrationUuid).catch((error: unknown) => {
        silentLooks = -1; // while the records are away nobody can touch them
        throw error;
      });
      const touched = (migration.find('updated_at') ?? null)?.getTime();
      silentLooks = touched === seen ? silentLooks + 1 : 0;
      seen = touched;
      const whose = await this.#whose(migration);
      return whose === 'nobody' || (whose === 'toucher' && silentLooks >= SILENT_LOOKS);
    };
  }

  /** Who brings about that its part comes: a destination is down or up, others are known by their touching the record. */
  async #whose(migration: Migration): Promise<'toucher' | 'destination' | 'nobody'> {
    const status = migration.get('status');
    const dest = migration.find('dest_compute') ?? null;
    if (!AHEAD.some((one) => one === status)) return 'nobody';
    if (dest === null || migration.find('cross_cell_move') === true) return 'toucher';
    return this.#atOneCell(migration, dest);
  }

  async #atOneCell(migration: Migration, dest: string): Promise<'toucher' | 'destination' | 'nobody'> {
    const { records, host, locks, liveness } = this.#host;
    const status = migration.get('status');
    const uuid = migration.get('instance_uuid');
    if (!(await isNewestMove(this.#host, { uuid, migrationUuid: migration.get('uuid') }))) return 'nobody';
    const task = (await records.instances.get(uuid)).get('task_state');
    if (status === 'reverting' && task === null) return 'toucher'; // just asked for: its request is not out yet
    if (task !== (status === 'pre-migrating' ? 'resize_prep' : 'resize_reverting')) return 'nobody';
    if (dest === host) return status === 'reverted' || locks.isBusy(uuid) ? 'destination' : 'nobody';
    return liveness.isUp(await records.services.get('compute', dest)) ? 'destination' : 'nobody';
  }
}

function keyOf(migrationUuid: string): string {
  return `cold_move_at_source:${migrationUuid}`;
}
