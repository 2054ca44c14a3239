import type { CellAccess } from '../cells/cell-access.js';
import type { Records } from '../db/repositories.js';
import { HostDownError, RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { Instance } from '../objects/instance.js';
import type { Networking } from '../network/networking.js';
import type { ApiEvent, Emit } from '../notifications/compute-event.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { ConductorApi } from '../rpc/conductor-api.js';
import type { Liveness } from '../servicegroup/liveness.js';

/** What is needed to do what users ask of their instances. */
export interface ActionParts {
  /** Instances, migrations, services, allocations. */
  readonly records: Records;
  /** For what a host does by itself. */
  readonly computeApi: ComputeApi;
  /** For what takes more than one host. */
  readonly conductor: ConductorApi;
  /** For instances whose host is dead. */
  readonly networking: Pick<Networking, 'deallocate'>;
  /** Who is dead. */
  readonly liveness: Liveness;
  /** Tells those who listen outside what was asked for; absent: nobody is told. */
  readonly emitAsked?: Emit<ApiEvent>;
  /** For instances that move from one cell to another; absent: there is one cell. All else is of one of them. */
  readonly cells?: { get(name: string): Promise<Pick<CellAccess, 'records'>> };
}

/** Is the compute service of a host up? One that has never reported is not. */
export async function isHostUp(
  { records, liveness }: Pick<ActionParts, 'records' | 'liveness'>,
  host: string,
): Promise<boolean> {
  try {
    return liveness.isUp(await records.services.get('compute', host));
  } catch (error) {
    if (error instanceof RecordNotFoundError) return false;
    throw error;
  }
}

/**
 * The host of an instance, when that is up: what needs a dead one is refused at once (COMP-16).
 * @throws HostDownError (`ERR_HOST_DOWN`); UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it is on no host
 */
export async function liveHostOf(
  parts: Pick<ActionParts, 'records' | 'liveness'>,
  instance: Instance,
): Promise<string> {
  const host = instance.find('host') ?? null;
  if (host === null) throw new UnexpectedStateError(`Instance ${instance.get('uuid')} is on no host`);
  if (!(await isHostUp(parts, host))) throw new HostDownError(`Compute service of ${host} is down`);
  return host;
}
