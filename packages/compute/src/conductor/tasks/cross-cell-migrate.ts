import { randomUUID } from 'node:crypto';
import type { RequestContext } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import type { CellAccess, CellRegistry } from '../../cells/cell-access.js';
import { withOldState } from '../../compute/operations/resize-job.js';
import { NoValidHostError } from '../../errors.js';
import type { Flavor } from '../../objects/flavor.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import type { RequestSpec } from '../../objects/request-spec.js';
import type { Selection } from '../../scheduler/scheduler.js';
import type { ConductorContext } from '../conductor-context.js';
import type { UndoStack } from '../undo-stack.js';
import { putCopies, removeInstance, removeMigration } from './cross-cell-copies.js';

/** A move from one cell to another, when a host was chosen and claimed. */
export interface CrossCellMove {
  readonly instance: Instance;
  readonly migration: Migration;
  readonly flavor: Flavor;
  readonly spec: RequestSpec;
  readonly registry: CellRegistry;
  readonly source: CellAccess;
  readonly target: CellAccess;
  /** Of the target cell; the first is claimed. */
  readonly selections: readonly Selection[];
}

/** How long a destination may take to say that it has dropped everything; if it does not it finds out by its records. */
export const DROP_LIMIT_MS = 10_000;

/**
 * Moves an instance to a host of another cell (`compute-rpc.md` 3.5, steps 2 to 6): the conductor calls one side after the
 * other, as neither can reach the other. What was done is taken back on failure, the last step first, until the mapping
 * says that the instance is in the other cell.
 */
export class CrossCellMigrateTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #move: CrossCellMove;
  readonly #undo: UndoStack;
  readonly #uuid: string;
  readonly #migrationUuid: string;

  constructor(conductor: ConductorContext, context: RequestContext, move: CrossCellMove, undo: UndoStack) {
    this.#conductor = conductor;
    this.#context = context;
    this.#move = move;
    this.#undo = undo;
    this.#uuid = move.instance.get('uuid');
    this.#migrationUuid = move.migration.get('uuid');
  }

  /** What it rejects with is why the move is to be taken back. */
  async run(): Promise<void> {
    await this.#setUpTarget();
    const beat = setInterval(() => void this.#beat(), this.#move.registry.beatMs);
    try {
      const dest = await this.#prepareDestination();
      const imageId = await this.#prepareSource();
      await this.#finishAtDestination(dest, imageId);
      await this.#switchOver();
    } finally {
      clearInterval(beat);
    }
  }

  /** By this the destination knows that somebody still drives the move. */
  async #beat(): Promise<void> {
    await this.#move.target.records.migrations.update(this.#migrationUuid, {}).catch((error: unknown) => {
      this.#conductor.logger.debug({ err: error }, 'A sign of life was not written');
    });
  }

  /** Step 2: hidden copies of the records, and the ports. */
  async #setUpTarget(): Promise<void> {
    const { source, target, registry, flavor } = this.#move;
    const preparing = { task_state: ['resize_prep'] } as const;
    await registry.mappings.set(this.#uuid, source.name);
    this.#undo.add('the instance at its source', () => this.#settleSource());
    const migration = await source.records.migrations.update(
      this.#migrationUuid,
      { cross_cell_move: true },
      { status: ['pre-migrating'] },
    );
    const current = await source.records.instances.get(this.#uuid);
    const notes = { system_metadata: withOldState(current) };
    const instance = await source.records.instances.update(this.#uuid, notes, preparing);
    this.#undo.add('the records in the target cell', () => this.#clearTarget());
    const sizes = { old_flavor: instance.get('flavor'), new_flavor: flavor };
    await putCopies(target, instance.clone().update(sizes), migration);
    this.#undo.add('the ports in the target cell', () => target.networking.deallocate(this.#uuid));
    await target.networking.adopt(this.#uuid, await source.networking.portsOf(this.#uuid));
  }

  async #clearTarget(): Promise<void> {
    const { target } = this.#move;
    await removeMigration(target, this.#migrationUuid, 'error');
    await removeInstance(target, this.#uuid);
  }

  /** Step 3: the first host that agrees. */
  async #prepareDestination(): Promise<string> {
    const { selections } = this.#move;
    let last: unknown = new NoValidHostError('No host is left to try');
    for (const [index, { host }] of selections.entries()) {
      try {
        if (index > 0) await this.#claimNext(host);
        await this.#prepareAt(host);
        return host;
      } catch (error) {
        last = error;
        const fields = { err: error, host, instance: this.#uuid };
        this.#conductor.logger.info(fields, 'A host of another cell cannot take the instance');
        await this.#setDestination(null); // what it may do with a late message is over before its claim goes
        await this.#move.target.records.allocations.release(this.#uuid);
      }
    }
    throw last;
  }

  async #claimNext(host: string): Promise<void> {
    const { target, spec } = this.#move;
    await target.scheduler.selectDestinations(this.#context, spec, [this.#uuid], { onlyHosts: [host] });
  }

  async #prepareAt(host: string): Promise<void> {
    const { target, flavor } = this.#move;
    const { records, computeApi } = target;
    // At once, and not when it is up again: the call would wait in its queue (B11).
    if (!(await this.#conductor.hosts.takesRequests(records, host)))
      throw new DrainingError(`Host ${host} takes no new requests`);
    const migration = await this.#setDestination(host);
    const context = await computeApi.call(this.#context, 'prep_snapshot_based_resize_at_dest', host, {
      instance: await records.instances.get(this.#uuid),
      flavor,
      nodename: host,
      migration,
      limits: null,
    });
    this.#undo.add('what the destination holds', () => this.#drop(host));
    await records.instances.update(this.#uuid, { migration_context: context });
  }

  /** In both cells; resolves with what the target's says then. */
  async #setDestination(host: string | null): Promise<Migration> {
    const { source, target } = this.#move;
    const dest = { dest_compute: host, dest_node: host, dest_host: host };
    const preparing = { status: ['pre-migrating'] } as const;
    await source.records.migrations.update(this.#migrationUuid, dest, preparing);
    return target.records.migrations.update(this.#migrationUuid, dest, preparing);
  }

  async #drop(host: string): Promise<void> {
    const { records, computeApi } = this.#move.target;
    await records.migrations.update(this.#migrationUuid, { status: 'error' });
    const instance = await records.instances.get(this.#uuid);
    const signal = AbortSignal.timeout(DROP_LIMIT_MS);
    await computeApi.call(this.#context, 'drop_move_claim_at_destination', host, { instance }, { signal });
  }

  /** Step 4: the disks go into an image, unless they are on volumes. */
  async #prepareSource(): Promise<string | null> {
    const { source, target, registry } = this.#move;
    const instance = await source.records.instances.get(this.#uuid);
    const migration = await source.records.migrations.get(this.#migrationUuid);
    const imageId = (instance.find('image_ref') ?? '') === '' ? null : randomUUID();
    if (imageId !== null) this.#undo.add('the image', () => registry.images.remove(imageId));
    const host = migration.get('source_compute');
    const args = { instance, migration, snapshot_id: imageId };
    await source.computeApi.call(this.#context, 'prep_snapshot_based_resize_at_source', host, args);
    const sent = await source.records.instances.get(this.#uuid);
    await target.records.instances.update(this.#uuid, {
      task_state: 'resize_migrated',
      power_state: sent.get('power_state'),
    });
    const preparing = { status: ['pre-migrating'] } as const;
    await target.records.migrations.update(this.#migrationUuid, { status: 'post-migrating' }, preparing);
    return imageId;
  }

  /** What the source has not settled itself: the guest is not there any more, and a hard reboot makes it again. */
  async #settleSource(): Promise<void> {
    const { instances, migrations } = this.#move.source.records;
    const under = ['pre-migrating', 'migrating', 'post-migrating', 'error'] as const;
    await migrations.update(this.#migrationUuid, { status: 'error' }, { status: under });
    const task = (await instances.get(this.#uuid)).get('task_state');
    if (task !== 'resize_migrating' && task !== 'resize_migrated') return;
    const failed = { vm_state: 'error', task_state: null, hidden: false } as const;
    await instances.update(this.#uuid, failed, { task_state: [task] });
  }

  /** Step 5: the guest is made of the image. */
  async #finishAtDestination(host: string, imageId: string | null): Promise<void> {
    const { records, computeApi } = this.#move.target;
    await computeApi.call(this.#context, 'finish_snapshot_based_resize_at_dest', host, {
      instance: await records.instances.get(this.#uuid),
      migration: await records.migrations.get(this.#migrationUuid),
      snapshot_id: imageId,
    });
  }

  /** Step 6: from the moment when the mapping is written the instance is in the other cell. */
  async #switchOver(): Promise<void> {
    const { source, target, registry } = this.#move;
    const [uuid, migrationUuid] = [this.#uuid, this.#migrationUuid];
    const sent = { task_state: ['resize_migrated'] } as const; // it is not being deleted
    await source.records.instances.update(uuid, { hidden: true }, sent);
    await registry.mappings.set(uuid, target.name);
    const shown = { hidden: false } as const;
    await this.#orLog(() => target.records.instances.update(uuid, shown));
    await this.#orLog(() => target.records.migrations.update(migrationUuid, shown));
    const left = { status: 'finished', hidden: true } as const;
    await this.#orLog(() => source.records.migrations.update(migrationUuid, left));
  }

  /** There is no way back any more. */
  async #orLog(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#conductor.logger.error(
        { err: error, instance: this.#uuid },
        'A record of a move was not written',
      );
    }
  }
}
