import type { RequestContext } from '@ebbgate/core';
import { MigrationPreCheckError, OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import type { Expected } from '../../db/repositories.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import type { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import type { Migration } from '../../objects/migration.js';
import { isFinal, POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { resourcesOf } from '../../scheduler/flavor-resources.js';
import { PUT_BACK_MS } from '../early-end.js';
import type { HeldOperations } from '../held-operations.js';
import type { HostContext } from '../host-context.js';
import { writeSurely } from '../sure-write.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;

/**
 * The destination's side of live migrations, and the checks of both sides. From the first question on, the host counts
 * as engaged: `live_migration_at_dest` is open until the source tells that it is over, or the records do, or the source is
 * down (B5): then it says so when it comes up again. A drain that has no time left for it asks the source to take the
 * migration back, as an operator would.
 */
export class LiveMigrationAtDestination {
  readonly #host: HostContext;
  readonly #held: HeldOperations;
  /** Why the source was asked to take a migration back, by instance. */
  readonly #asked = new Map<string, Error>();

  constructor(host: HostContext, held: HeldOperations) {
    this.#host = host;
    this.#held = held;
  }

  /** Step 5 at the destination, which asks the source in turn. */
  async check(
    context: RequestContext,
    args: Args<'check_can_live_migrate_destination'>,
  ): Promise<LibvirtLiveMigrateData> {
    const { instance } = args;
    this.#engage(context, instance);
    try {
      const wishes = { blockMigration: args.block_migration, diskOverCommit: args.disk_over_commit };
      const data = await this.#host.virt.checkCanLiveMigrateDestination(instance, wishes);
      const source = instance.get('host');
      if (source === null) throw new MigrationPreCheckError('The instance is on no host');
      if (asksForNuma(instance)) data.update({ dst_supports_numa_live_migration: true });
      const question = { instance, dest_check_data: data };
      const agreed = await this.#host.computeApi.call(
        context,
        'check_can_live_migrate_source',
        source,
        question,
      );
      if (agreed.find('src_supports_numa_live_migration') === true) await this.#claim(instance);
      return agreed;
    } catch (error) {
      this.#disengage(instance, error);
      throw error;
    }
  }

  /** Step 5 at the source: it is engaged too, until `live_migration` comes or the records tell that it will not. */
  async checkSource(
    context: RequestContext,
    args: Args<'check_can_live_migrate_source'>,
  ): Promise<LibvirtLiveMigrateData> {
    const { instance, dest_check_data: data } = args;
    const uuid = instance.get('uuid');
    const record = { name: 'live_migration_at_source', instance: uuid, requestId: context.requestId ?? null };
    this.#held.open(atSource(uuid), record, () => this.#isOver(uuid, 'source_compute'));
    try {
      const agreed = await this.#host.virt.checkCanLiveMigrateSource(instance, data);
      if (data.find('dst_supports_numa_live_migration') === true)
        agreed.update({ src_supports_numa_live_migration: true });
      return agreed;
    } catch (error) {
      this.#held.close(atSource(uuid), error);
      throw error;
    }
  }

  /** Of a host that is named by a scheduler it is the claim that there is already. */
  async #claim(instance: Instance): Promise<void> {
    const { records, host } = this.#host;
    const bootsFromVolume = instance.find('image_ref') === '';
    const resources = resourcesOf(instance.get('flavor'), { bootsFromVolume });
    if (await records.allocations.claim(instance.get('uuid'), host, resources)) return;
    throw new MigrationPreCheckError('There is no room for the instance');
  }

  /** What was claimed for a guest that does not come goes; false when none was to come. What is here keeps what it has. */
  async dropClaim(uuid: string): Promise<boolean> {
    const { records, host } = this.#host;
    if (!this.#held.isOpen(atDest(uuid))) return false;
    const instance = await records.instances.get(uuid);
    if (instance.find('host') !== host) await records.allocations.release(uuid, host);
    return true;
  }

  /** `live_migration` has come, and is tracked for itself. */
  begun(instance: Instance): void {
    this.#held.close(atSource(instance.get('uuid')));
  }

  /** Step 8. */
  async prepare(context: RequestContext, args: Args<'pre_live_migration'>): Promise<LibvirtLiveMigrateData> {
    const { instance, migrate_data: data } = args;
    const uuid = instance.get('uuid');
    this.#engage(context, instance);
    if (await this.#isOver(uuid, 'dest_compute')) {
      const error = new UnexpectedStateError(`No migration of ${uuid} to ${this.#host.host} is under way`);
      this.#disengage(instance, error);
      throw error;
    }
    // When it fails the source takes everything back and says so: until then the operation stays open.
    const { virt, emit } = this.#host;
    emit({ context, action: 'live_migration_pre', phase: 'start', instance });
    const prepared = await virt.preLiveMigration(instance, data);
    emit({ context, action: 'live_migration_pre', phase: 'end', instance });
    return prepared;
  }

  /** Step 10, after the guest has come. */
  async finish(context: RequestContext, args: Args<'post_live_migration_at_destination'>): Promise<void> {
    const { host, virt, emit } = this.#host;
    const { instance } = args;
    const uuid = instance.get('uuid');
    await this.#last(instance, async () => {
      emit({ context, action: 'live_migration_post_dest', phase: 'start', instance });
      await virt.postLiveMigrationAtDestination(instance);
      const arrived = {
        host,
        node: host,
        // It goes on as what it was: a guest that stands still comes as one, too.
        vm_state: instance.get('vm_state') === 'paused' ? 'paused' : 'active',
        task_state: null,
        power_state:
          instance.get('power_state') === POWER_STATE.paused ? POWER_STATE.paused : POWER_STATE.running,
        progress: 0,
      } as const;
      try {
        const here = await this.#write(uuid, arrived, { task_state: ['migrating'] });
        emit({ context, action: 'live_migration_post_dest', phase: 'end', instance: here });
      } catch (error) {
        if (!(error instanceof UnexpectedStateError)) throw error;
        // A delete waits at the source until the guest has left, and follows it here.
        await this.#write(uuid, { host, node: host }, { task_state: ['deleting'] });
      }
    });
  }

  /** That the instance is here: written again while no answer comes. */
  async #write(
    uuid: string,
    changes: Partial<InstanceFields>,
    expected: Expected<InstanceFields>,
  ): Promise<Instance> {
    const { host, records } = this.#host;
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, changes, expected),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host,
    });
  }

  /** The guest does not come: what the host was engaged in has failed, however well this step goes (B16). */
  async rollBack(
    context: RequestContext,
    args: Args<'rollback_live_migration_at_destination'>,
  ): Promise<void> {
    const { instance, destroy_disks: destroyDisks } = args;
    const { virt, locks, emit } = this.#host;
    emit({ context, action: 'live_migration_rollback_dest', phase: 'start', instance });
    await this.#last(
      instance,
      async () => {
        await virt.rollbackLiveMigrationAtDestination(instance, { destroyDisks });
        emit({ context, action: 'live_migration_rollback_dest', phase: 'end', instance });
        if (!(await this.#isDeleted(instance))) return;
        const uuid = instance.get('uuid'); // its guest may have come all the same
        await locks.run(uuid, () => virt.destroy(uuid));
      },
      new OperationAbortedError('The live migration was taken back', {
        cause: this.#asked.get(instance.get('uuid')),
      }),
    );
  }

  async #isDeleted(instance: Instance): Promise<boolean> {
    const record = await this.#host.records.instances.get(instance.get('uuid'));
    return record.get('vm_state') === 'deleted';
  }

  /** The operation is over with this step, however it ends. @param outcome - an error: it has failed in any case */
  async #last(instance: Instance, step: () => Promise<void>, outcome?: Error): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#disengage(instance, error);
      throw error;
    }
    this.#disengage(instance, outcome);
  }

  #engage(context: RequestContext, instance: Instance): void {
    const uuid = instance.get('uuid');
    const begin = (reason: Error): boolean => {
      void this.#askToTakeBack(context.detached(), instance, reason);
      return true;
    };
    const record = {
      name: 'live_migration_at_dest',
      instance: uuid,
      requestId: context.requestId ?? null,
      abort: { begin, reserveMs: PUT_BACK_MS },
    };
    this.#held.open(atDest(uuid), record, () => this.#isOver(uuid, 'dest_compute'));
  }

  /** The source knows whether there still is a way back; with none the guest comes, and the operation goes on. */
  async #askToTakeBack(context: RequestContext, instance: Instance, reason: Error): Promise<void> {
    const { computeApi, logger } = this.#host;
    const uuid = instance.get('uuid');
    this.#asked.set(uuid, reason);
    try {
      const migration = await this.#comingFrom(uuid);
      if (!migration) return;
      const args = { instance, migration_id: migration.get('id') };
      await computeApi.cast(context, 'live_migration_abort', migration.get('source_compute'), args);
    } catch (error) {
      logger.error({ err: error, instance: uuid }, 'The source could not be asked to take a migration back');
    }
  }

  /** The migration that is to bring an instance here. */
  async #comingFrom(uuid: string): Promise<Migration | undefined> {
    const { records, host } = this.#host;
    const live = { instance_uuid: uuid, migration_type: 'live-migration' } as const;
    const found = await records.migrations.find(live);
    return found.find((one) => !isFinal(one.get('status')) && one.find('dest_compute') === host);
  }

  #disengage(instance: Instance, error?: unknown): void {
    this.#asked.delete(instance.get('uuid'));
    this.#held.close(atDest(instance.get('uuid')), error);
  }

  /** No migration of the instance that is under way has this host at that end, or could still get it. */
  async #isOver(uuid: string, end: 'source_compute' | 'dest_compute'): Promise<boolean> {
    const { records, host } = this.#host;
    const live = { instance_uuid: uuid, migration_type: 'live-migration' } as const;
    for (const migration of await records.migrations.find(live)) {
      if (isFinal(migration.get('status'))) continue;
      const its = migration.find(end) ?? null;
      if (its !== null && its !== host) continue;
      if (end === 'source_compute' || (await this.#isDriven(migration))) return false;
    }
    return true;
  }

  /** Its source is up. One that is down says what has become of it when it comes up again. */
  async #isDriven(migration: Migration): Promise<boolean> {
    const { records, liveness } = this.#host;
    return liveness.isUp(await records.services.get('compute', migration.get('source_compute')));
  }
}

/** Its guest is pinned to CPUs and memory nodes, of which a host may have too few. */
function asksForNuma(instance: Instance): boolean {
  return Object.hasOwn(instance.find('flavor')?.find('extra_specs') ?? {}, 'hw:numa_nodes');
}

function atDest(uuid: string): string {
  return `live_migration_at_dest:${uuid}`;
}

function atSource(uuid: string): string {
  return `live_migration_at_source:${uuid}`;
}
