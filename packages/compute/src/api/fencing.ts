import type { Records, ServiceChanges, ServiceRecord } from '../db/repositories.js';
import { UnexpectedStateError } from '../errors.js';

/**
 * An operator says that a host is dead no more. Refused while it has not removed what was evacuated from it, as it does
 * when it starts: an instance would have two owners (COMP-13).
 * @param besides - what else changes, in the same write
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`); RecordNotFoundError (`ERR_NOT_FOUND`)
 */
export async function unfence(
  { migrations, services }: Records,
  host: string,
  besides: ServiceChanges = {},
): Promise<ServiceRecord> {
  const evacuations = { source_compute: host, migration_type: 'evacuation', status: 'done' } as const;
  const { length } = await migrations.find(evacuations);
  if (length === 0) return services.update('compute', host, { ...besides, forcedDown: false });
  const what = length === 1 ? '1 instance was' : `${length} instances were`;
  throw new UnexpectedStateError(
    `${what} evacuated from ${host}, and not yet removed there: start its process first, which removes them`,
  );
}
