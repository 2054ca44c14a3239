import { type Logger, within } from '@ebbgate/core';
import type { CallerContext } from '@ebbgate/rpc';
import type { TaskRegistry } from '@ebbgate/service';
import type { Records, ServiceChanges, ServiceRecord } from '../db/repositories.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { Liveness } from '../servicegroup/liveness.js';
import { unfence } from './fencing.js';

/** What {@link changeService} works with. */
export interface ServiceParts {
  readonly records: Records;
  readonly computeApi: ComputeApi;
  readonly liveness: Liveness;
  /** Has the calls to hosts, also those that nobody waits for any more. */
  readonly tasks: TaskRegistry;
  readonly logger: Logger;
}

/** A host gets so long to answer before the operator does. */
const PATIENCE_MS = 5_000;

/**
 * An operator changes what the others are to think of a compute service: in one write, only what is given. A host that is
 * up is told that it is enabled or disabled; when it does not answer, the change stands all the same.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it may not be called up again yet: nothing was changed;
 * RecordNotFoundError (`ERR_NOT_FOUND`)
 */
export async function changeService(
  parts: ServiceParts,
  context: CallerContext,
  { binary, host }: Pick<ServiceRecord, 'binary' | 'host'>,
  changes: ServiceChanges,
): Promise<ServiceRecord> {
  const { records, liveness } = parts;
  const service =
    changes.forcedDown === false
      ? await unfence(records, host, changes)
      : await records.services.update(binary, host, changes);
  if (changes.disabled !== undefined && liveness.isUp(service)) await tellHost(parts, context, service);
  return service;
}

/** Never rejects; a host that is slow is told while nobody waits any more. */
async function tellHost(
  { computeApi, tasks, logger }: ServiceParts,
  context: CallerContext,
  { host, disabled }: ServiceRecord,
): Promise<void> {
  const told = tasks.track('set_host_enabled', () =>
    computeApi.call(context, 'set_host_enabled', host, { enabled: !disabled }),
  );
  const heard = told.then(
    () => undefined,
    (error: unknown) => {
      logger.warn({ err: error, host }, 'A host was not told that it is enabled or disabled');
    },
  );
  await within(heard, { timeoutMs: PATIENCE_MS }, () => new Error('The host is slow')).catch(() => undefined);
}
