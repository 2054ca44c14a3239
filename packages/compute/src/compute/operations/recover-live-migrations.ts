import type { RequestContext } from '@ebbgate/core';
import { LibvirtLiveMigrateData } from '../../objects/migrate-data.js';
import type { Migration } from '../../objects/migration.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { HostContext } from '../host-context.js';
import { beginAction, cutOff } from '../instance-action.js';
import type { LiveMigrationJob } from './live-migration.js';
import { LiveMigrationEnd } from './live-migration-end.js';

/** Of an `accepted` one the message may still wait in the queue. */
const CUT_OFF: ReadonlySet<MigrationStatus> = new Set([
  'queued',
  'preparing',
  'running',
  'running (post-copy)',
]);

/**
 * Live migrations from this host that an end of the process has cut off (`compute-rpc.md` 3.1): one whose guest is still
 * here is taken back at both ends and ends in `error`; one whose guest has left is completed, since that is where the
 * guest is; of one whose instance was deleted meanwhile nothing stays anywhere. Goes on while the host serves, as the other host has to answer.
 */
export async function recoverLiveMigrations(host: HostContext, context: RequestContext): Promise<void> {
  const from = { source_compute: host.host, migration_type: 'live-migration' } as const;
  const left = (await host.records.migrations.find(from)).filter((one) => CUT_OFF.has(one.get('status')));
  for (const migration of [...left, ...(await halfTakenBack(host))]) {
    const uuid = migration.get('instance_uuid');
    const about = { instance: uuid, migration: migration.get('uuid'), status: migration.get('status') };
    host.logger.info(about, 'A live migration was cut off');
    beginAction(host, context, 'live_migration', uuid, (signal) =>
      recoverOne(host, context, migration, signal),
    );
  }
}

/**
 * Those whose taking back was cut off: they have ended in `error`, and their instances are as the first step has found them,
 * unless they were asked to move once more since.
 */
async function halfTakenBack({ records, host }: HostContext): Promise<readonly Migration[]> {
  const found: Migration[] = [];
  for (const instance of await records.instances.find({ host, task_state: 'migrating' })) {
    const live = { instance_uuid: instance.get('uuid'), migration_type: 'live-migration' } as const;
    const last = (await records.migrations.find(live)).at(-1);
    if (last?.get('status') !== 'error' || last.get('source_compute') !== host) continue;
    if (writtenMs(last) >= writtenMs(instance)) found.push(last);
  }
  return found;
}

function writtenMs(record: { find(field: 'updated_at'): Date | null | undefined }): number {
  return record.find('updated_at')?.getTime() ?? 0;
}

async function recoverOne(
  host: HostContext,
  context: RequestContext,
  migration: Migration,
  signal: AbortSignal,
): Promise<void> {
  const { records, virt } = host;
  const uuid = migration.get('instance_uuid');
  const dest = migration.find('dest_compute') ?? null;
  const ours = { status: [...CUT_OFF, 'error' as const] };
  await records.migrations.update(migration.get('uuid'), { status: 'error' }, ours);
  const job: LiveMigrationJob = {
    context: context.detached(),
    instance: await records.instances.get(uuid),
    uuid,
    migrationUuid: migration.get('uuid'),
    dest: dest ?? host.host,
    blockMigration: null,
    signal,
    abort: new AbortController(),
    // What the two ends had agreed on is lost. So the destination keeps the disks: they may be the very ones of the guest.
    migrateData: LibvirtLiveMigrateData.create({ is_shared_instance_path: true }),
    status: migration.get('status'),
    hasLeft: false,
    progress: 0,
    copyingSinceMs: 0,
  };
  const end = new LiveMigrationEnd(host);
  if (job.instance.get('vm_state') === 'deleted') {
    await end.drop(job); // the API has deleted it while this host was down
    return;
  }
  const hasLeft = dest !== null && (await virt.guestState(uuid)) === undefined;
  if (hasLeft) await end.complete(job);
  else await end.rollBack(job, 'error', cutOff());
}
