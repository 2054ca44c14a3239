import type { RequestContext } from '@ebbgate/core';
import { ValidationError } from '@ebbgate/rpc';
import type { Flavor } from '../../objects/flavor.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import type { MigrationStatus, VmState } from '../../objects/states.js';
import type { HostContext } from '../host-context.js';

/** One cold migration or resize on its way, as each side sees it. */
export interface ResizeJob {
  /** Of the request; its deadline does not bind what goes on after it. */
  readonly context: RequestContext;
  readonly instance: Instance;
  readonly uuid: string;
  readonly migration: Migration;
  readonly migrationUuid: string;
  readonly source: string;
}

export function resizeJob(
  context: RequestContext,
  instance: Instance,
  migration: Migration | null,
): ResizeJob {
  if (migration === null) {
    throw new ValidationError('prep_resize', [{ path: 'migration', message: 'must be Migration' }]);
  }
  return {
    context: context.detached(),
    instance,
    uuid: instance.get('uuid'),
    migration,
    migrationUuid: migration.get('uuid'),
    source: migration.get('source_compute'),
  };
}

/** Is nothing newer done to the instance? `reverted` is what a move stays, while another one can be on its way back. */
export async function isNewestMove(
  { records }: HostContext,
  job: Pick<ResizeJob, 'uuid' | 'migrationUuid'>,
): Promise<boolean> {
  const moves = await records.migrations.find({ instance_uuid: job.uuid });
  return moves.at(-1)?.get('uuid') === job.migrationUuid;
}

/** The statuses between the choice of a host and the moment when the guest runs there. */
export const MOVING: ReadonlySet<MigrationStatus> = new Set(['pre-migrating', 'migrating', 'post-migrating']);

/** The fields of an instance that its size decides. */
export function sizeFields(flavor: Flavor): Partial<InstanceFields> {
  return {
    flavor,
    instance_type_id: flavor.get('id'),
    memory_mb: flavor.get('memory_mb'),
    vcpus: flavor.get('vcpus'),
    root_gb: flavor.get('root_gb'),
    ephemeral_gb: flavor.get('ephemeral_gb'),
  };
}

/** A move that is over leaves no other size behind. */
export const NO_OTHER_SIZE: Pick<InstanceFields, 'old_flavor' | 'new_flavor'> = {
  old_flavor: null,
  new_flavor: null,
};

const OLD_STATE = 'old_vm_state';

/** Notes what the instance was before its move, as Nova does. */
export function withOldState(instance: Instance): Readonly<Record<string, string>> {
  return { ...(instance.find('system_metadata') ?? {}), [OLD_STATE]: instance.get('vm_state') };
}

/** What the instance was before its move: only the two that may move cold. */
export function oldStateOf(instance: Instance): Extract<VmState, 'active' | 'stopped'> {
  const notes = new Map(Object.entries(instance.find('system_metadata') ?? {})); // names come from the wire
  return notes.get(OLD_STATE) === 'stopped' ? 'stopped' : 'active';
}
