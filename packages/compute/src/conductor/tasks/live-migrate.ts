import { MessagingTimeoutError, type RequestContext } from '@ebbgate/core';
import { DrainingError } from '@ebbgate/rpc';
import { releaseIfDeleted } from '../../db/move-allocations.js';
import {
  HostDownError,
  MigrationPreCheckError,
  NoValidHostError,
  UnexpectedStateError,
} from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import type { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import type { Migration } from '../../objects/migration.js';
import { newMigration } from '../../objects/new-migration.js';
import { RequestSpec } from '../../objects/request-spec.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { handOver } from '../hand-over.js';
import { UndoStack } from '../undo-stack.js';
import { isLiveMigrationOpen } from './moves-again.js';

type Args = ArgsOf<ConductorMethods['live_migrate_instance']>;

/** A destination that has agreed, and what it said. */
interface Agreed {
  readonly dest: string;
  readonly migrateData: LibvirtLiveMigrateData;
}

/**
 * Finds a destination for a live migration and hands it to the source (`compute-rpc.md` 3.1, steps 2 to 6). What the
 * instance has of the source goes to the migration, and the destination is claimed for the instance. Until the source has
 * it everything is taken back on failure, the last step first: the destination is released, the instance gets back what it
 * had, the migration ends in `error`, and the instance stays as it was; in ERROR when it failed for a reason that nobody
 * has foreseen.
 */
export class LiveMigrateTask {
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
    const conductor = this.#conductor;
    if (conductor.isAgain === true && !(await isLiveMigrationOpen(conductor, this.#context, uuid))) return;
    try {
      await this.#hand(await records.instances.get(uuid));
    } catch (error) {
      logger.error({ err: error, instance: uuid }, 'A live migration could not be handed to its source');
      this.#undo.addFirst('the task of the instance', () => this.#reset(uuid, error));
      await this.#undo.undo();
    }
  }

  async #hand(instance: Instance): Promise<void> {
    const { records } = this.#conductor;
    const source = instance.get('host');
    if (source === null) throw new UnexpectedStateError('The instance is on no host');
    const begun = { source_compute: source, status: 'accepted', migration_type: 'live-migration' } as const;
    const migration = await records.migrations.create(newMigration(instance, begun));
    const uuid = migration.get('uuid');
    this.#undo.add('the migration', () => records.migrations.update(uuid, { status: 'error' }));
    await this.#checkSource(instance, source);
    await this.#moveAllocation(instance, uuid);
    const { dest, migrateData } = await this.#findDestination(instance, source, migration);
    this.#undo.add('the destination', () => this.#release(instance, dest, migrateData));
    const chosen = await records.migrations.update(
      uuid,
      { dest_compute: dest, dest_node: dest },
      { status: ['accepted'] },
    );
    await this.#tellSource(source, instance, chosen, { dest, migrateData });
  }

  /** When it is not known whether it was told, the migration is ended first, and unless it has begun: then it is the source's. */
  async #tellSource(
    source: string,
    instance: Instance,
    migration: Migration,
    { dest, migrateData }: Agreed,
  ): Promise<void> {
    const { records, computeApi } = this.#conductor;
    await handOver(records.migrations, migration.get('uuid'), { status: ['accepted'] }, () =>
      computeApi.cast(this.#context, 'live_migration', source, {
        instance,
        dest,
        block_migration: migrateData.find('block_migration') ?? null,
        migrate_data: migrateData,
        migration,
      }),
    );
  }

  async #reset(uuid: string, error: unknown): Promise<void> {
    const { instances, allocations } = this.#conductor.records;
    const now = await instances.get(uuid);
    await releaseIfDeleted(allocations, now);
    if (now.get('task_state') !== 'migrating') return;
    const isForeseen = FORESEEN.some((type) => error instanceof type);
    const reset = { task_state: null, fault: faultOf(error, null) };
    const state = isForeseen ? {} : ({ vm_state: 'error' } as const);
    const as = await instances.update(uuid, { ...reset, ...state }, { task_state: ['migrating'] });
    const task = { context: this.#context, task: 'migrate_server', instanceUuid: uuid } as const;
    this.#conductor.emit({ ...task, state: as.get('vm_state'), error });
  }

  async #checkSource(instance: Instance, source: string): Promise<void> {
    const power = instance.get('power_state');
    if (power !== POWER_STATE.running && power !== POWER_STATE.paused) {
      throw new UnexpectedStateError('Only an instance that runs or is paused can be moved live');
    }
    if (!(await this.#conductor.hosts.takesRequests(this.#conductor.records, source))) {
      throw new DrainingError(`Host ${source} takes no new requests`); // at once, not after a time-out (GS-44)
    }
  }

  async #moveAllocation(instance: Instance, migrationUuid: string): Promise<void> {
    const { allocations } = this.#conductor.records;
    const uuid = instance.get('uuid');
    this.#undo.add('what the instance has of its host', () => allocations.transfer(migrationUuid, uuid));
    await allocations.transfer(uuid, migrationUuid);
    // From here on all that the instance has is claimed at destinations, also by a scheduler whose answer was lost.
    this.#undo.add('what is claimed for the instance', () => allocations.release(uuid));
  }

  async #findDestination(instance: Instance, source: string, migration: Migration): Promise<Agreed> {
    const { scheduler, records } = this.#conductor;
    const uuid = instance.get('uuid');
    const hint = this.#args.scheduler_hint['host'];
    const wished = typeof hint === 'string' ? { onlyHosts: [hint] } : {};
    const spec = specFor(instance, this.#args.request_spec);
    // Ends with the first host that agrees, when the scheduler knows no other, or when enough were tried.
    for (const tried = [source]; ;) {
      await this.#checkRetries(migration, tried.length - 1);
      const wishes = { ...wished, ignoreHosts: tried };
      const [[selection] = []] = await scheduler.selectDestinations(this.#context, spec, [uuid], wishes);
      if (!selection) throw new NoValidHostError('The scheduler named no host');
      const { host: dest } = selection;
      const migrateData = await this.#ask(dest, instance, migration);
      if (migrateData && (await this.#bindPorts(dest, instance, migrateData))) return { dest, migrateData };
      await records.allocations.release(uuid, dest);
      tried.push(dest);
    }
  }

  async #checkRetries(migration: Migration, refusals: number): Promise<void> {
    const { records, migrateMaxRetries: most } = this.#conductor;
    if (most < 0 || refusals <= most) return;
    await records.migrations.update(migration.get('uuid'), { status: 'failed' }, { status: ['accepted'] });
    throw new NoValidHostError(
      `${refusals} hosts have refused the instance, and migrate_max_retries is ${most}`,
    );
  }

  /** Undefined when the host refuses or does not answer: another one may be tried. */
  async #ask(
    dest: string,
    instance: Instance,
    migration: Migration,
  ): Promise<LibvirtLiveMigrateData | undefined> {
    const { computeApi, logger } = this.#conductor;
    try {
      return await computeApi.call(this.#context, 'check_can_live_migrate_destination', dest, {
        instance,
        block_migration: this.#args.block_migration,
        disk_over_commit: this.#args.disk_over_commit,
        migration,
        limits: null,
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      logger.info({ err: error, dest }, 'A host cannot take the instance');
      return undefined;
    }
  }

  /** False when that fails: then the host is told, which has agreed, and another one may be tried. */
  async #bindPorts(dest: string, instance: Instance, migrateData: LibvirtLiveMigrateData): Promise<boolean> {
    const { networking, logger } = this.#conductor;
    const uuid = instance.get('uuid');
    try {
      await networking.bind(uuid, dest);
    } catch (error) {
      logger.info({ err: error, dest, instance: uuid }, 'Ports cannot be bound to a host');
      await networking.unbind(uuid, dest).catch(() => undefined); // for the case that only the answer was lost
      await this.#release(instance, dest, migrateData);
      return false;
    }
    this.#undo.add('the bindings of the ports', () => networking.unbind(uuid, dest));
    return true;
  }

  async #release(instance: Instance, dest: string, migrateData: LibvirtLiveMigrateData): Promise<void> {
    await this.#conductor.computeApi.cast(this.#context, 'rollback_live_migration_at_destination', dest, {
      instance,
      destroy_disks: false,
      migrate_data: migrateData,
    });
  }
}

/** What the instance was ordered with, but for the places that were asked for then. */
function specFor(instance: Instance, ordered: RequestSpec | null): RequestSpec {
  const spec =
    ordered?.clone() ??
    RequestSpec.create({ instance_uuid: instance.get('uuid'), flavor: instance.get('flavor') });
  return spec.update({ force_hosts: null, requested_destination: null });
}

/** What ends a request and has not touched the instance: it stays as it was. After anything else it is in ERROR. */
const FORESEEN = [
  NoValidHostError,
  MigrationPreCheckError,
  UnexpectedStateError,
  HostDownError,
  DrainingError,
  MessagingTimeoutError,
];

function isRefusal(error: unknown): boolean {
  return [MigrationPreCheckError, MessagingTimeoutError, DrainingError].some((type) => error instanceof type);
}
