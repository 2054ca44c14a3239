import type { RequestContext } from '@ebbgate/core';
import { Moves } from '../../api/moves.js';
import type { HostContext } from '../host-context.js';

/**
 * Confirms resizes to this host that nobody has confirmed or reverted for `windowMs`, as their user would (`compute-rpc.md`
 * 2.1). One that cannot be confirmed now, since its source is down, say, is seen to again the next time.
 */
export async function confirmDue(
  host: HostContext,
  context: RequestContext,
  windowMs: number,
): Promise<void> {
  const { records, logger } = host;
  const moves = new Moves({ ...host, conductor: host.conductorApi });
  const dueMs = Date.now() - windowMs;
  for (const migration of await records.migrations.find({ dest_compute: host.host, status: 'finished' })) {
    const sinceMs = (migration.find('updated_at') ?? migration.find('created_at'))?.getTime() ?? Infinity;
    if (sinceMs > dueMs) continue;
    const uuid = migration.get('instance_uuid');
    try {
      await moves.confirmResize(context, uuid);
      logger.info({ instance: uuid, migration: migration.get('uuid') }, 'A resize is confirmed by its time');
    } catch (error) {
      logger.warn({ err: error, instance: uuid }, 'A resize could not be confirmed; it is tried again');
    }
  }
}
