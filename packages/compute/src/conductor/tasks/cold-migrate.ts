import type { RequestContext } from '@ebbgate/core';
import { DrainingError, ValidationError } from '@ebbgate/rpc';
import { releaseIfDeleted } from '../../db/move-allocations.js';
import { NoValidHostError, UnexpectedStateError } from '../../errors.js';
import type { Flavor } from '../../objects/flavor.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { isCold, type Migration } from '../../objects/migration.js';
import { newMigration } from '../../objects/new-migration.js';
import { RequestSpec } from '../../objects/request-spec.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { Selection } from '../../scheduler/scheduler.js';
import type { ConductorContext } from '../conductor-context.js';
import { handOver } from '../hand-over.js';
import { hostListOf, nextHost } from '../next-host.js';
import { UndoStack } from '../undo-stack.js';
import { type CrossCellMove, CrossCellMigrateTask } from './cross-cell-migrate.js';
import { LiveMigrateTask } from './live-migrate.js';
import { isColdMoveOpen } from './moves-again.js';

type Args = ArgsOf<ConductorMethods['migrate_server']>;

/** Hosts that are named besides the first, for the case that it fails: with it as many as Nova tries. */
const ALTERNATES = 2;

/** Has an instance moved: live, or cold to a host of another name, in the same size or another. */
export async function migrateServer(
  conductor: ConductorContext,
  context: RequestContext,
  args: Args,
): Promise<void> {
  if (args.rebuild) {
    throw new ValidationError('migrate_server', [{ path: 'rebuild', message: 'must be false' }]);
  }
  if (args.live) await new LiveMigrateTask(conductor, context, args).run();
  else await new ColdMigrateTask(conductor, context, args).run();
}

/**
 * Finds a destination for a cold migration or a resize and hands it over (`compute-rpc.md` 3.2, step 2); once more for each
 * host that could not take it. What the instance has of the source goes to the migration, and the destination is claimed
 * for the instance. Until the destination has it everything is taken back on failure, the last step first.
 */
export class ColdMigrateTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #args: Args;
  readonly #undo: UndoStack;

  constructor(conductor: ConductorContext, context: RequestContext, args: Args) {
    this.#conductor = conductor;
    this.#context = context;
    this.#args = args;
    this.#undo = new UndoStack(conductor.logger);
  }

  async run(): Promise<void> {
    const { records, logger } = this.#conductor;
    const uuid = this.#args.instance.get('uuid');
    if (this.#conductor.isAgain === true && !(await isColdMoveOpen(this.#conductor, uuid))) return;
    try {
      await this.#hand(await records.instances.get(uuid));
    } catch (error) {
      logger.error({ err: error, instance: uuid }, 'A cold migration could not be handed to a destination');
      this.#undo.addFirst('the task of the instance', () => this.#reset(uuid, error));
      await this.#undo.undo();
    }
  }

  async #reset(uuid: string, error: unknown): Promise<void> {
    const { records } = this.#conductor;
    const now = await records.instances.get(uuid);
    await releaseIfDeleted(records.allocations, now);
    if (now.get('task_state') !== 'resize_prep') return;
    const reset = { task_state: null, fault: faultOf(error, null) };
    await records.instances.update(uuid, reset, { task_state: ['resize_prep'] });
    const task = { context: this.#context, task: 'migrate_server', instanceUuid: uuid } as const;
    this.#conductor.emit({ ...task, state: now.get('vm_state'), error });
  }

  async #hand(instance: Instance): Promise<void> {
    const { computeApi, records } = this.#conductor;
    const source = instance.get('host');
    if (source === null) throw new UnexpectedStateError('The instance is on no host');
    if (instance.get('task_state') !== 'resize_prep')
      throw new UnexpectedStateError('The instance is not to be moved');
    const flavor = this.#args.flavor ?? instance.get('flavor');
    const migration = await this.#migration(instance, source, flavor);
    if (this.#args.host_list === null) await this.#checkSource(source);
    await this.#moveAllocation(instance, migration);
    const spec = specFor(instance, flavor, this.#args.request_spec);
    const selections = await this.#choose(instance, migration, spec, source);
    if (selections === 'elsewhere') return;
    const [selection, ...alternates] = selections;
    if (!selection) throw new NoValidHostError('No host is left to try');
    const args = {
      instance,
      flavor,
      image: imageOf(instance),
      request_spec: spec,
      filter_properties: {
        retry: { num_attempts: 1, hosts: [[selection.host, selection.node]] },
        limits: {},
      },
      node: selection.node,
      migration,
      clean_shutdown: this.#args.clean_shutdown,
      host_list: await hostListOf(this.#conductor, alternates),
    };
    const unclaimed = { status: ['pre-migrating'], dest_compute: [null] } as const;
    await handOver(records.migrations, migration.get('uuid'), unclaimed, () =>
      computeApi.cast(this.#context, 'prep_resize', selection.host, args),
    );
  }

  /** The one record of the move, however many hosts are tried. */
  async #migration(instance: Instance, source: string, flavor: Flavor): Promise<Migration> {
    const { migrations } = this.#conductor.records;
    const moving = {
      instance_uuid: instance.get('uuid'),
      status: 'pre-migrating',
      dest_compute: null,
    } as const;
    const present = (await migrations.find(moving)).filter(isCold);
    const migration =
      present.at(-1) ?? (await migrations.create(newMove(instance, source, flavor.get('id'))));
    this.#undo.add('the migration', () => this.#end(migration));
    return migration;
  }

  async #end(migration: Migration): Promise<void> {
    const { migrations } = this.#conductor.records;
    await migrations.update(
      migration.get('uuid'),
      { status: 'error' },
      { status: ['pre-migrating', 'error'] },
    );
  }

  /** Only at the beginning: a move that has begun is finished by a source that drains. */
  async #checkSource(source: string): Promise<void> {
    if (await this.#conductor.hosts.takesRequests(this.#conductor.records, source)) return;
    throw new DrainingError(`Host ${source} takes no new requests`); // at once, not when it is up again
  }

  async #moveAllocation(instance: Instance, migration: Migration): Promise<void> {
    const { allocations } = this.#conductor.records;
    const [uuid, migrationUuid] = [instance.get('uuid'), migration.get('uuid')];
    this.#undo.add('what the instance has of its host', () => allocations.transfer(migrationUuid, uuid));
    const [moved] = await allocations.find({ consumer: migrationUuid }); // by an earlier attempt
    if (!moved) await allocations.transfer(uuid, migrationUuid);
    // From here on all that the instance has is claimed at destinations, also by a scheduler whose answer was lost. The
    // move is over before it is given back: a destination that has its message all the same then finds nothing to do.
    this.#undo.add('what is claimed for the instance', async () => {
      await this.#end(migration);
      await allocations.release(uuid);
    });
  }

  /** The hosts that may be tried, the first of them claimed. `elsewhere`: there is none, and another cell was asked. */
  async #choose(
    instance: Instance,
    migration: Migration,
    spec: RequestSpec,
    source: string,
  ): Promise<readonly Selection[] | 'elsewhere'> {
    const { scheduler } = this.#conductor;
    const uuid = instance.get('uuid');
    const { host_list: hostList, scheduler_hint: hint } = this.#args;
    if (hostList !== null) return nextHost(this.#conductor, this.#context, spec, uuid, hostList);
    const wished = typeof hint['host'] === 'string' ? { onlyHosts: [hint['host']] } : {};
    const isResize = spec.get('flavor').get('id') !== instance.get('flavor').get('id');
    const mayStay = isResize && this.#conductor.allowResizeToSameHost;
    const wishes = { ...wished, ignoreHosts: mayStay ? [] : [source], alternates: ALTERNATES };
    try {
      const [selections = []] = await scheduler.selectDestinations(this.#context, spec, [uuid], wishes);
      return selections;
    } catch (error) {
      const move = { uuid, migrationUuid: migration.get('uuid'), flavor: spec.get('flavor'), spec, wishes };
      if (error instanceof NoValidHostError && (await this.#moveElsewhere(move))) return 'elsewhere';
      throw error;
    }
  }

  /** False: there is no other cell. */
  async #moveElsewhere(move: Omit<CrossCellMove, 'registry' | 'source' | 'targets'>): Promise<boolean> {
    const { cells } = this.#conductor;
    if (!cells) return false;
    const { registry, own } = cells;
    const [source, [first, ...more]] = await Promise.all([registry.get(own), registry.others(own)]);
    if (!first) return false;
    const between = { registry, source, targets: [first, ...more] } as const;
    await new CrossCellMigrateTask(this.#conductor, this.#context, { ...move, ...between }).run();
    return true;
  }
}

function newMove(instance: Instance, source: string, newType: number): Migration {
  const oldType = instance.get('flavor').get('id');
  const kind = newType === oldType ? 'migration' : 'resize';
  const begun = { source_compute: source, status: 'pre-migrating', migration_type: kind } as const;
  return newMigration(instance, begun, oldType, newType);
}

/** What the instance was ordered with, in its new size, but for the places that were asked for then. */
function specFor(instance: Instance, flavor: Flavor, ordered: RequestSpec | null): RequestSpec {
  const spec =
    ordered?.clone() ??
    RequestSpec.create({
      instance_uuid: instance.get('uuid'),
      project_id: instance.find('project_id') ?? '',
      user_id: instance.find('user_id') ?? null,
      image: null,
      num_instances: 1,
      availability_zone: null,
      ignore_hosts: null,
      scheduler_hints: {},
      is_bfv: false,
      requested_networks: null,
    });
  return spec.update({ flavor, force_hosts: null, requested_destination: null });
}

/** As much of the image as the instance knows of it. */
function imageOf(instance: Instance): Readonly<Record<string, unknown>> {
  const id = instance.find('image_ref') ?? '';
  return id === '' ? {} : { id };
}
