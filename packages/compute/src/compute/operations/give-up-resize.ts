import { takeAllocationsBack } from '../../db/move-allocations.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { NO_OTHER_SIZE, type ResizeJob } from './resize-job.js';

type PrepareArgs = ArgsOf<ComputeMethods['prep_resize']>;

/**
 * A resize cannot come to this host: takes back what was done here for it; then the conductor tries the next host, or that
 * was the end of it.
 */
export async function giveUpResize(
  host: HostContext,
  job: ResizeJob,
  args: PrepareArgs,
  error: unknown,
): Promise<void> {
  const { records, logger } = host;
  const { uuid, migrationUuid } = job;
  logger.warn({ err: error, instance: uuid, migration: migrationUuid }, 'A resize cannot come to this host');
  const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
  await attempts.make('releasing the claim', () => records.allocations.release(uuid, host.host));
  const isPreparing = await attempts.make('clearing the destination', async () => {
    await records.instances.update(uuid, NO_OTHER_SIZE, { task_state: ['resize_prep'] });
    const nowhere = { dest_compute: null, dest_node: null, dest_host: null };
    await records.migrations.update(migrationUuid, nowhere, { status: ['pre-migrating'] });
  });
  const isWorthATry = isPreparing && (args.host_list ?? []).length > 0;
  const isHandedBack = isWorthATry && (await handBack(host, job, args, attempts));
  const { context, instance } = job;
  if (isWorthATry) host.emit({ context, action: 'resize', phase: 'error', instance, error });
  if (!isHandedBack) await endMove(host, job, attempts, error);
}

function handBack(
  { conductorApi }: HostContext,
  job: ResizeJob,
  args: PrepareArgs,
  attempts: Attempts,
): Promise<boolean> {
  return attempts.make('handing it back to the conductor', () =>
    conductorApi.cast(job.context, 'migrate_server', {
      instance: job.instance,
      scheduler_hint: {},
      live: false,
      rebuild: false,
      flavor: args.flavor,
      block_migration: null,
      disk_over_commit: null,
      reservations: null,
      clean_shutdown: args.clean_shutdown,
      request_spec: args.request_spec,
      host_list: args.host_list,
    }),
  );
}

async function endMove(
  { records, host }: HostContext,
  { uuid, migrationUuid }: ResizeJob,
  attempts: Attempts,
  error: unknown,
): Promise<void> {
  await attempts.make('giving the allocations back', () =>
    takeAllocationsBack(records.allocations, { instanceUuid: uuid, migrationUuid, dest: host }),
  );
  await attempts.make('resetting the instance', () =>
    records.instances.update(
      uuid,
      { task_state: null, fault: faultOf(error, host) },
      { task_state: ['resize_prep'] },
    ),
  );
  await attempts.make('recording the end', () =>
    records.migrations.update(migrationUuid, { status: 'error' }, { status: ['pre-migrating'] }),
  );
}
