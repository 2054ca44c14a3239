import { RequestContext } from '@ebbgate/core';
import type { CallerContext } from '@ebbgate/rpc';
import { UnexpectedStateError } from '../errors.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { newMigration } from '../objects/new-migration.js';
import { RequestSpec } from '../objects/request-spec.js';
import { isFinal, type TaskState } from '../objects/states.js';
import { type ActionParts, isHostUp, liveHostOf } from './action-parts.js';
import { sendOrTakeBack } from './take-back.js';

/** States from which an instance can be made anew. */
export const REBUILDABLE = ['active', 'stopped', 'error'] as const;

/** A request that no conductor has taken up for so long is lost with one. */
const LOST_MS = 120_000;

/** Has nobody taken up an evacuation that has no destination yet, for longer than that could take? */
export function isLost(migration: Migration, nowMs: number): boolean {
  return nowMs - (migration.find('created_at')?.getTime() ?? 0) >= LOST_MS;
}

/**
 * Makes instances anew: where they are (rebuild), or elsewhere when their host has failed (evacuate). Each resolves when
 * the request is out.
 */
export class Rebuilds {
  readonly #parts: ActionParts;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  /**
   * Makes an instance anew on its host.
   * @param imageRef - of which image; null: the one that it has
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`); HostDownError (`ERR_HOST_DOWN`); RecordNotFoundError
   * (`ERR_NOT_FOUND`)
   */
  async rebuild(
    context: CallerContext,
    uuid: string,
    imageRef: string | null = null,
    { password = null, changes: besides = {} }: RebuildWishes = {},
  ): Promise<Instance> {
    const { records } = this.#parts;
    const before = await records.instances.get(uuid);
    const host = await liveHostOf(this.#parts, before);
    const origImageRef = before.find('image_ref') ?? null;
    const image = imageRef ?? origImageRef;
    const changes = {
      ...besides,
      task_state: 'rebuilding',
      ...(image !== null && { image_ref: image }),
    } as const;
    const expected = { vm_state: REBUILDABLE, task_state: [null], host: [host] };
    const instance = await records.instances.update(uuid, changes, expected);
    const undone = {
      ...valuesOf(before, besides),
      task_state: null,
      ...(origImageRef !== null && { image_ref: origImageRef }),
    };
    await sendOrTakeBack(
      () => this.#send(context, instance, { recreate: false, host, image, origImageRef, password }),
      () => records.instances.update(uuid, undone, { task_state: ['rebuilding'] }),
    );
    return instance;
  }

  /**
   * Has an instance made anew on another host, since its own is down; whatever was done to it there is over (COMP-17). When
   * the request could not be sent, the instance has the task that it had, and the evacuation ends in `error`.
   * @param host - where; null lets the scheduler choose
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when its host is up, is the one asked for, or the instance is on
   * its way already; RecordNotFoundError (`ERR_NOT_FOUND`) when there is no such instance or host
   */
  async evacuate(
    context: CallerContext,
    uuid: string,
    host: string | null = null,
    wishes: EvacuationWishes = {},
  ): Promise<Migration> {
    const { records } = this.#parts;
    const before = await records.instances.get(uuid);
    const source = before.find('host') ?? null;
    if (source === null) throw new UnexpectedStateError(`Instance ${uuid} is on no host`);
    if (await isHostUp(this.#parts, source)) {
      throw new UnexpectedStateError(`Compute service of ${source} is still in use`);
    }
    if (host === source)
      throw new UnexpectedStateError(`Instance ${uuid} cannot be evacuated to its own host`);
    if (host !== null) await records.services.get('compute', host);
    await this.#checkMoves(uuid);
    const { seenTask = before.get('task_state') } = wishes;
    const expected = { vm_state: REBUILDABLE, host: [source], task_state: [seenTask] };
    const instance = await records.instances.update(uuid, { task_state: 'rebuilding' }, expected);
    await this.#endMoves(uuid); // of two who ask at the same time only one has come here
    const begun = { source_compute: source, status: 'accepted', migration_type: 'evacuation' } as const;
    const migration = await records.migrations.create(newMigration(instance, begun));
    const image = instance.find('image_ref') ?? null;
    this.#tell(context, instance);
    await sendOrTakeBack(
      () => this.#send(context, instance, { ...wishes, recreate: true, host, image, origImageRef: image }),
      () => this.#takeBack(before, migration),
    );
    return migration;
  }

  #tell(context: CallerContext, instance: Instance): void {
    const asker = context instanceof RequestContext ? context : new RequestContext(context);
    this.#parts.emitAsked?.({ context: asker, action: 'evacuate', instance });
  }

  async #takeBack(before: Instance, migration: Migration): Promise<void> {
    const { instances, migrations } = this.#parts.records;
    await migrations.update(migration.get('uuid'), { status: 'error' }, { status: ['accepted'] });
    const task = { task_state: before.get('task_state') };
    await instances.update(before.get('uuid'), task, { task_state: ['rebuilding'] });
  }

  /** An evacuation that somebody is at is left to that one: to a host that is up, or whose request may still be taken up. */
  async #checkMoves(uuid: string): Promise<void> {
    const evacuations = { instance_uuid: uuid, migration_type: 'evacuation' } as const;
    for (const migration of await this.#parts.records.migrations.find(evacuations)) {
      if (isFinal(migration.get('status'))) continue;
      const dest = migration.find('dest_compute') ?? null;
      const isTakenUp = dest === null ? !isLost(migration, Date.now()) : await isHostUp(this.#parts, dest);
      if (isTakenUp)
        throw new UnexpectedStateError(`Instance ${uuid} is being evacuated to ${dest ?? 'a host'}`);
    }
  }

  /** What was under way when the host failed is over. */
  async #endMoves(uuid: string): Promise<void> {
    const { records } = this.#parts;
    for (const migration of await records.migrations.find({ instance_uuid: uuid })) {
      const status = migration.get('status');
      if (isFinal(status)) continue;
      const dest = migration.find('dest_compute') ?? null;
      await records.migrations.update(migration.get('uuid'), { status: 'error' }, { status: [status] });
      // A move has what the instance had at its source; what it was to have elsewhere is not needed any more.
      if (dest !== null) await records.allocations.release(uuid, dest);
      await records.allocations.transfer(migration.get('uuid'), uuid);
    }
  }

  async #send(context: CallerContext, instance: Instance, how: Wanted): Promise<void> {
    await this.#parts.conductor.cast(context, 'rebuild_instance', {
      instance,
      orig_image_ref: how.origImageRef,
      image_ref: how.image,
      injected_files: [],
      new_pass: how.password ?? null,
      orig_sys_metadata: instance.find('system_metadata') ?? null,
      bdms: null,
      recreate: how.recreate,
      on_shared_storage: how.onSharedStorage ?? null,
      preserve_ephemeral: false,
      host: how.host,
      request_spec: how.recreate ? specOf(instance) : null,
      reimage_boot_volume: false,
      target_state: how.targetState ?? null,
    });
  }
}

/** What may be wished of a rebuild. All may be left out. */
export interface RebuildWishes {
  /** The password of its administrator; default null: it is made. */
  readonly password?: string | null;
  /** What else changes of its record, in the same write. */
  readonly changes?: Partial<
    Pick<InstanceFields, 'display_name' | 'display_description' | 'metadata' | 'hostname' | 'key_name'>
  >;
}

/** What may be wished of an evacuation. All may be left out. */
export interface EvacuationWishes {
  /** The password of its administrator; default null: it is made. */
  readonly password?: string | null;
  /** Its disks are on storage that its next host has, too; default null: that host looks. */
  readonly onSharedStorage?: boolean | null;
  /** What it is afterwards; default null: what it was. */
  readonly targetState?: 'stopped' | null;
  /** The task that it must still have; default: that which is found. */
  readonly seenTask?: TaskState;
}

interface Wanted extends EvacuationWishes {
  readonly recreate: boolean;
  readonly host: string | null;
  readonly image: string | null;
  readonly origImageRef: string | null;
}

/** What these fields were before. */
function valuesOf(before: Instance, changes: Partial<InstanceFields>): Partial<InstanceFields> {
  const names = Object.keys(changes) as (keyof InstanceFields)[]; // of a Partial<InstanceFields>
  return Object.fromEntries(names.map((name) => [name, before.find(name) ?? null]));
}

/** The instance ordered again: what another host must offer. */
function specOf(instance: Instance): RequestSpec {
  return RequestSpec.create({
    instance_uuid: instance.get('uuid'),
    project_id: instance.get('project_id'),
    user_id: instance.find('user_id') ?? null,
    flavor: instance.get('flavor'),
    image: null,
    num_instances: 1,
    availability_zone: null,
    force_hosts: null,
    ignore_hosts: null,
    scheduler_hints: {},
    is_bfv: instance.find('image_ref') === '',
    requested_networks: null,
  });
}
