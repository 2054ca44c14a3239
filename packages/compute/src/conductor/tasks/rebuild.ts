import type { RequestContext } from '@ebbgate/core';
import { NoValidHostError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import type { Migration, MigrationFields } from '../../objects/migration.js';
import type { RequestSpec } from '../../objects/request-spec.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { handOver } from '../hand-over.js';
import { UndoStack } from '../undo-stack.js';

type Args = ArgsOf<ConductorMethods['rebuild_instance']>;

/**
 * Hands a rebuild to the host of the instance, or an evacuation to another one that it finds (`compute-rpc.md` 3.6). When
 * that cannot be done the instance ends in ERROR with the image that it had, its evacuation in `error`, and nothing stays
 * claimed.
 */
export class RebuildTask {
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
    try {
      const instance = await records.instances.get(uuid);
      if (this.#conductor.isAgain === true && !(await this.#isOpen(instance))) return;
      if (this.#args.recreate) await this.#evacuate(instance);
      else await this.#rebuild(instance);
    } catch (error) {
      logger.error(
        { err: error, instance: uuid },
        'An instance could not be handed to a host that rebuilds it',
      );
      this.#undo.addFirst('the instance', () => this.#reset(uuid, error));
      await this.#undo.undo();
    }
  }

  /** Of one that an earlier run was cut off in: has no host begun with it? */
  async #isOpen(instance: Instance): Promise<boolean> {
    if (instance.get('task_state') !== 'rebuilding') return false;
    if (!this.#args.recreate) return true;
    const newest = (await this.#evacuations(instance.get('uuid'))).at(-1)?.get('status');
    return newest === 'accepted' || newest === 'error'; // or it has failed: then the instance is to be told so
  }

  async #reset(uuid: string, error: unknown): Promise<void> {
    const { orig_image_ref: before, image_ref: wanted } = this.#args;
    const image = before !== null && before !== wanted ? { image_ref: before } : {};
    const failed = { vm_state: 'error', task_state: null, fault: faultOf(error, null), ...image } as const;
    await this.#conductor.records.instances.update(uuid, failed, { task_state: ['rebuilding'] });
    const task = { context: this.#context, task: 'rebuild_server', instanceUuid: uuid } as const;
    this.#conductor.emit({ ...task, state: 'error', error });
  }

  async #rebuild(instance: Instance): Promise<void> {
    const host = this.#args.host ?? instance.get('host');
    if (host === null) throw new UnexpectedStateError('The instance is on no host');
    await this.#hand(host, instance, null);
  }

  async #evacuate(instance: Instance): Promise<void> {
    const { records } = this.#conductor;
    const uuid = instance.get('uuid');
    const migration = await this.#migrationOf(uuid);
    this.#undo.add('the evacuation', () =>
      records.migrations.update(migration.get('uuid'), { status: 'error' }, { status: ['accepted'] }),
    );
    const dest = await this.#choose(instance, migration);
    this.#undo.add('the claim', () => records.allocations.release(uuid, dest));
    const chosen = await records.migrations.update(
      migration.get('uuid'),
      { dest_compute: dest, dest_node: dest },
      { status: ['accepted'] },
    );
    await handOver(records.migrations, migration.get('uuid'), { status: ['accepted'] }, () =>
      this.#hand(dest, instance, chosen),
    );
  }

  async #migrationOf(uuid: string): Promise<Migration> {
    const migration = (await this.#evacuations(uuid, { status: 'accepted' })).at(-1);
    if (!migration) throw new UnexpectedStateError(`No evacuation of instance ${uuid} was asked for`);
    return migration;
  }

  #evacuations(uuid: string, where: Partial<MigrationFields> = {}): Promise<readonly Migration[]> {
    const evacuations = { instance_uuid: uuid, migration_type: 'evacuation' } as const;
    return this.#conductor.records.migrations.find({ ...evacuations, ...where });
  }

  /** The request names hosts that have refused: those that drain send an evacuation back (`decisions.md` 24). */
  async #choose(instance: Instance, migration: Migration): Promise<string> {
    const { records, scheduler } = this.#conductor;
    const uuid = instance.get('uuid');
    const source = migration.get('source_compute');
    const wanted = await this.#wished(migration);
    for (const { host } of await records.allocations.find({ consumer: uuid })) {
      if (host !== source) await records.allocations.release(uuid, host); // of a host that has refused
    }
    const { request_spec: spec } = this.#args;
    if (spec === null) throw new NoValidHostError('An evacuation needs its request specification');
    const wishes = { ignoreHosts: [source], ...(wanted !== null && { onlyHosts: [wanted] }) };
    const [selections] = await scheduler.selectDestinations(this.#context, anywhere(spec), [uuid], wishes);
    const [selection] = selections ?? [];
    if (!selection) throw new NoValidHostError('No host can take the instance');
    return selection.host;
  }

  /** What its user wishes; or the host that an earlier run has asked already, as long as that may begin. */
  async #wished(migration: Migration): Promise<string | null> {
    const { isAgain, hosts, records } = this.#conductor;
    const asked = isAgain === true ? (migration.find('dest_compute') ?? null) : null;
    return asked !== null && (await hosts.takesRequests(records, asked)) ? asked : this.#args.host;
  }

  async #hand(host: string, instance: Instance, migration: Migration | null): Promise<void> {
    const args = this.#args;
    await this.#conductor.computeApi.cast(this.#context, 'rebuild_instance', host, {
      instance,
      new_pass: args.new_pass,
      injected_files: args.injected_files,
      image_ref: args.image_ref,
      orig_image_ref: args.orig_image_ref,
      orig_sys_metadata: args.orig_sys_metadata,
      bdms: args.bdms,
      recreate: args.recreate,
      on_shared_storage: args.on_shared_storage,
      preserve_ephemeral: args.preserve_ephemeral,
      migration,
      scheduled_node: migration && host,
      limits: null,
      request_spec: args.request_spec,
      accel_uuids: [],
      reimage_boot_volume: args.reimage_boot_volume,
      target_state: args.target_state,
    });
  }
}

/** What was forced when the instance was ordered was its host of then, which has failed. */
function anywhere(spec: RequestSpec): RequestSpec {
  return spec.clone().update({ force_hosts: null });
}
