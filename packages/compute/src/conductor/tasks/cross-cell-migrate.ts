import { randomUUID } from 'node:crypto';
import type { RequestContext } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import type { CellAccess, CellRegistry } from '../../cells/cell-access.js';
import { type MoveNotes, withNotes } from '../../cells/move-notes.js';
import { withOldState } from '../../compute/operations/resize-job.js';
import { NoValidHostError } from '../../errors.js';
import type { Flavor } from '../../objects/flavor.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import type { RequestSpec } from '../../objects/request-spec.js';
import type { ComputeMethods, ResultOf } from '../../rpc/methods.js';
import type { Selection, SelectOptions } from '../../scheduler/scheduler.js';
import type { ConductorContext } from '../conductor-context.js';
import { putCopies } from './cross-cell-copies.js';
import { type CrossCellEnds, whileBeating } from './cross-cell-ends.js';
import { finishMove, orTakeBack } from './cross-cell-finish.js';

/** A move for which no host of the instance's own cell is right. What the instance has of its host is the migration's. */
export interface CrossCellMove {
  readonly uuid: string;
  readonly migrationUuid: string;
  readonly flavor: Flavor;
  readonly spec: RequestSpec;
  /** What hosts are wanted. */
  readonly wishes: SelectOptions;
  readonly registry: CellRegistry;
  readonly source: CellAccess;
  /** The other cells, in the order in which they are asked. */
  readonly targets: readonly [CellAccess, ...CellAccess[]];
}

/** What a host that has agreed says of the instance. */
type Prepared = ResultOf<ComputeMethods['prep_snapshot_based_resize_at_dest']>;

const PREPARING = { task_state: ['resize_prep'] } as const;

/**
 * Moves an instance to a host of another cell (`compute-rpc.md` 3.5): the conductor calls one side after the other, as
 * neither can reach the other. What was done is taken back on failure, until the mapping says that the instance is in the
 * other cell. Before each step the records tell enough for another conductor to take it up, or back.
 */
export class CrossCellMigrateTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #move: CrossCellMove;
  readonly #uuid: string;
  readonly #migrationUuid: string;
  /** The one that is tried. */
  #target: CellAccess;

  constructor(conductor: ConductorContext, context: RequestContext, move: CrossCellMove) {
    this.#conductor = conductor;
    this.#context = context;
    this.#move = move;
    this.#uuid = move.uuid;
    this.#migrationUuid = move.migrationUuid;
    this.#target = move.targets[0];
  }

  /** Resolves when the instance has moved, or all was taken back. */
  async run(): Promise<void> {
    await whileBeating(
      this.#conductor,
      () => this.#ends(),
      () =>
        orTakeBack(
          this.#conductor,
          this.#context,
          () => this.#ends(),
          () => this.#run(),
        ),
    );
  }

  async #run(): Promise<void> {
    const selections = await this.#choose();
    await this.#move.registry.mappings.set(this.#uuid, this.#move.source.name);
    await this.#setUpTarget();
    const prepared = await this.#prepareDestination(selections);
    // Not a fault of that host: when it cannot be written all is taken back, and the host is told.
    await this.#target.records.instances.update(this.#uuid, { migration_context: prepared });
    await this.#prepareSource();
    await finishMove(this.#context, this.#ends());
  }

  #ends(): CrossCellEnds {
    const { registry, source } = this.#move;
    const [uuid, migrationUuid] = [this.#uuid, this.#migrationUuid];
    return { registry, source, target: this.#target, uuid, migrationUuid };
  }

  /** Each cell is noted before it is asked: a claim may be there from then on. */
  async #choose(): Promise<readonly Selection[]> {
    const { spec, wishes, targets } = this.#move;
    let last: unknown;
    for (const target of targets) {
      this.#target = target;
      await this.#note({});
      try {
        const found = await target.scheduler.selectDestinations(this.#context, spec, [this.#uuid], wishes);
        return found[0] ?? [];
      } catch (error) {
        if (!(error instanceof NoValidHostError)) throw error;
        last = error;
        const fields = { err: error, cell: target.name, instance: this.#uuid };
        this.#conductor.logger.info(fields, 'Another cell has no host either');
      }
    }
    throw last;
  }

  /** Says what is open, on the instance first: that a migration leads to another cell is true only of one that is noted. */
  async #note({ image = '' }: Partial<MoveNotes>): Promise<Instance> {
    const { instances, migrations } = this.#move.source.records;
    const notes = {
      migration: this.#migrationUuid,
      source: this.#move.source.name,
      target: this.#target.name,
      image,
    };
    const current = await instances.get(this.#uuid);
    const changes = { system_metadata: withNotes(withOldState(current), notes) };
    const noted = await instances.update(this.#uuid, changes, PREPARING);
    const preparing = { status: ['pre-migrating'] } as const;
    await migrations.update(this.#migrationUuid, { cross_cell_move: true }, preparing);
    return noted;
  }

  /** Step 2: hidden copies of the records, and the ports. */
  async #setUpTarget(): Promise<void> {
    const { source, flavor } = this.#move;
    const target = this.#target;
    const instance = await source.records.instances.get(this.#uuid);
    const migration = await source.records.migrations.get(this.#migrationUuid);
    const sizes = { old_flavor: instance.get('flavor'), new_flavor: flavor };
    await putCopies(target, instance.clone().update(sizes), migration);
    await target.networking.adopt(this.#uuid, await source.networking.portsOf(this.#uuid));
  }

  /** Step 3: the first host that agrees, and what it has set apart. */
  async #prepareDestination(selections: readonly Selection[]): Promise<Prepared> {
    let last: unknown = new NoValidHostError('No host is left to try');
    for (const [index, { host }] of selections.entries()) {
      try {
        if (index > 0) await this.#claimNext(host);
        return await this.#prepareAt(host);
      } catch (error) {
        last = error;
        const fields = { err: error, host, instance: this.#uuid };
        this.#conductor.logger.info(fields, 'A host of another cell cannot take the instance');
        await this.#setDestination(null); // what it may do with a late message is over before its claim goes
        await this.#target.records.allocations.release(this.#uuid);
      }
    }
    throw last;
  }

  async #claimNext(host: string): Promise<void> {
    const only = { onlyHosts: [host] };
    await this.#target.scheduler.selectDestinations(this.#context, this.#move.spec, [this.#uuid], only);
  }

  async #prepareAt(host: string): Promise<Prepared> {
    const { records, computeApi } = this.#target;
    // At once, and not when it is up again: the call would wait in its queue (B11).
    if (!(await this.#conductor.hosts.takesRequests(records, host)))
      throw new DrainingError(`Host ${host} takes no new requests`);
    const migration = await this.#setDestination(host);
    return computeApi.call(this.#context, 'prep_snapshot_based_resize_at_dest', host, {
      instance: await records.instances.get(this.#uuid),
      flavor: this.#move.flavor,
      nodename: host,
      migration,
      limits: null,
    });
  }

  /** In both cells; resolves with what the target's says then. */
  async #setDestination(host: string | null): Promise<Migration> {
    const dest = { dest_compute: host, dest_node: host, dest_host: host };
    const preparing = { status: ['pre-migrating'] } as const;
    await this.#move.source.records.migrations.update(this.#migrationUuid, dest, preparing);
    return this.#target.records.migrations.update(this.#migrationUuid, dest, preparing);
  }

  /** Step 4: the disks go into an image, unless they are on volumes. */
  async #prepareSource(): Promise<void> {
    const { source } = this.#move;
    const before = await source.records.instances.get(this.#uuid);
    const imageId = (before.find('image_ref') ?? '') === '' ? null : randomUUID();
    const instance = await this.#note({ image: imageId ?? '' });
    const migration = await source.records.migrations.get(this.#migrationUuid);
    const host = migration.get('source_compute');
    const args = { instance, migration, snapshot_id: imageId };
    await source.computeApi.call(this.#context, 'prep_snapshot_based_resize_at_source', host, args);
  }
}
