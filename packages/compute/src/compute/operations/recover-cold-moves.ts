import type { RequestContext } from '@ebbgate/core';
import { isCold, type Migration } from '../../objects/migration.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { ColdMoveFlows } from '../cold-move-flows.js';
import type { HostContext } from '../host-context.js';
import { abandonResize } from './abandon-resize.js';
import { isBeingEvacuated } from './recover-actions.js';
import { resizeJob, type ResizeJob } from './resize-job.js';

/** What is done about a move that is at that point when one of its hosts starts. */
type Recovery = (host: HostContext, moves: ColdMoveFlows, job: ResizeJob) => void | Promise<void>;
type Recoveries = ReadonlyMap<MigrationStatus, Recovery>;

/** On the source, by what the migration is. */
const AT_SOURCE: Recoveries = new Map<MigrationStatus, Recovery>([
  ['pre-migrating', (host, _moves, job) => abandonResize(host, job)],
  ['migrating', takeUpSource],
  ['post-migrating', takeUpSource],
  ['confirming', (_host, { confirm }, job) => confirm.resume(job)],
  [
    'reverted',
    (host, { revertAtSource }, job) => whileReverting(host, job, () => revertAtSource.resume(job)),
  ],
]);

/** On the destination. While the source has the disks nothing is to be done, but waiting for them. */
const AT_DESTINATION: Recoveries = new Map<MigrationStatus, Recovery>([
  ['pre-migrating', (host, _moves, job) => abandonResize(host, job)],
  ['migrating', (_host, { resizeAtDestination }, job) => resizeAtDestination.expect(job)],
  ['post-migrating', finish],
  ['finished', finish],
  ['reverting', (host, moves, job) => whileReverting(host, job, () => moves.revertAtDestination.resume(job))],
  ['reverted', (host, moves, job) => whileReverting(host, job, () => moves.revertAtDestination.resume(job))],
]);

/** The others have mostly ended, and are looked at all the same. */
const UNDER_WAY: ReadonlySet<MigrationStatus> = new Set([
  'pre-migrating',
  'migrating',
  'post-migrating',
  'confirming',
  'reverting',
]);

function takeUpSource(host: HostContext, { resizeAtSource }: ColdMoveFlows, job: ResizeJob): void {
  const task = job.instance.get('task_state');
  const isHere = job.instance.get('host') === host.host && task !== 'resize_finish' && task !== 'deleting';
  if (isHere || task === 'resize_migrated') resizeAtSource.resume(job);
}

async function finish(
  host: HostContext,
  { resizeAtDestination }: ColdMoveFlows,
  job: ResizeJob,
): Promise<void> {
  const task = job.instance.get('task_state');
  if (task === 'resize_migrated' || task === 'resize_finish') resizeAtDestination.resume(job);
  else await orEndInError(host, job);
}

async function whileReverting(host: HostContext, job: ResizeJob, resume: () => void): Promise<void> {
  if (job.instance.get('task_state') === 'resize_reverting') resume();
  else await orEndInError(host, job);
}

/** The instance is here in ERROR since the move has failed: only that the move has, too, was not recorded any more. */
async function orEndInError({ host, records }: HostContext, job: ResizeJob): Promise<void> {
  const { instance, migration, migrationUuid } = job;
  const hasFailed = instance.get('vm_state') === 'error' && instance.get('task_state') === null;
  if (!hasFailed || instance.get('host') !== host || isOver(migration)) return;
  await records.migrations.update(migrationUuid, { status: 'error' }, { status: [migration.get('status')] });
}

/** `reverted` is the end of most moves of which that can be said. */
function isOver(migration: Migration): boolean {
  return migration.get('status') === 'reverted';
}

/**
 * Takes up, or back, the cold moves from and to this host that the end of a run has cut off (`compute-rpc.md` 3.2,
 * COMP-07): what has only been prepared is abandoned, what has not left is taken back, what has left is finished. What takes
 * long goes on while the host serves. A message that still waits in a queue then finds that it is done. Each move is seen
 * to for itself (COMP-15), and one whose instance is being evacuated is left alone (COMP-14).
 */
export async function recoverColdMoves(
  host: HostContext,
  context: RequestContext,
  moves: ColdMoveFlows,
): Promise<void> {
  const { migrations } = host.records;
  const recover = async (found: readonly Migration[], recoveries: Recoveries): Promise<void> => {
    for (const migration of found) await recoverOne(host, context, moves, migration, recoveries);
  };
  await recover(await migrations.find({ source_compute: host.host }), AT_SOURCE);
  await recover(await migrations.find({ dest_compute: host.host }), AT_DESTINATION);
}

async function recoverOne(
  host: HostContext,
  context: RequestContext,
  moves: ColdMoveFlows,
  migration: Migration,
  recoveries: Recoveries,
): Promise<void> {
  const { records, logger } = host;
  const status = migration.get('status');
  const recovery = recoveries.get(status);
  if (!recovery || !isCold(migration)) return;
  const about = {
    instance: migration.get('instance_uuid'),
    migration: migration.get('uuid'),
    status,
  };
  if (UNDER_WAY.has(status)) logger.info(about, 'A move was cut off');
  try {
    const instance = await records.instances.get(migration.get('instance_uuid'));
    if (await isBeingEvacuated(host, instance)) return;
    if (migration.find('cross_cell_move') === true) {
      // The conductor drives it: only what it cannot know is done here.
      const isOurs = status === 'migrating' && migration.get('source_compute') === host.host;
      if (isOurs) await moves.crossCellAtSource.recover(resizeJob(context, instance, migration));
      return;
    }
    await recovery(host, moves, resizeJob(context, instance, migration));
  } catch (error) {
    logger.error({ err: error, ...about }, 'A cold move could not be recovered');
  }
}
