import { type CellSight, UnitedRecords } from '../cells/united-records.js';
import type { InstanceMappings } from '../db/instance-mappings.js';
import type { Records } from '../db/repositories.js';
import { RecordNotFoundError } from '../errors.js';
import { RemoteNetworking } from '../network/remote.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import type { HttpParts } from './app.js';
import { HttpError, notFound } from './http-error.js';
import type { ServiceCell, ServiceCells } from './service-directory.js';

/** What is needed of all cells to look at the instances and migrations of all of them: a `CellRegistry` has it. */
export interface SeenCells {
  /** In which cell each instance is that has left its own. */
  readonly mappings: InstanceMappings;
  /** All cells that can be reached now, but for the one of this name. */
  others(name: string): Promise<readonly CellSight[]>;
}

/** The records of all cells as if they were those of one, to be read: each instance and each migration is there once. */
export async function allRecords({
  records,
  cells,
}: {
  readonly records: Records;
  readonly cells?: SeenCells | undefined;
}): Promise<Records> {
  return cells ? new UnitedRecords(await cells.others(''), cells.mappings) : records;
}

/**
 * The cell that a server is in.
 * @throws HttpError 404 when there is no such server, 503 when its cell cannot be reached
 */
export async function cellOf(
  { records, computeApi, cells }: ServiceCell & { readonly cells?: (ServiceCells & SeenCells) | undefined },
  uuid: string,
): Promise<ServiceCell> {
  if (!cells) return { records, computeApi };
  const all = await cells.others('');
  const name = await new UnitedRecords(all, cells.mappings).cellOf(uuid).catch(noServer(uuid));
  const cell = all.find((one) => one.name === name);
  if (!cell) throw new HttpError(503, 'The cell of the server cannot be reached now; try again later');
  return cell;
}

/** What the API works with, in one of the cells: its own parts in its own. */
export function partsIn(parts: HttpParts, { records, computeApi }: ServiceCell): HttpParts {
  if (records === parts.records) return parts;
  const { transport, rpcTimeoutMs: timeoutMs } = computeApi;
  const networking = new RemoteNetworking(transport, { timeoutMs });
  const over = { conductor: new ConductorApi(transport), networking };
  return { ...parts, ...over, records, computeApi };
}

/** What is told to whoever asks for a server when looking it up fails. @throws HttpError 404 when there is none */
export function noServer(uuid: string): (error?: unknown) => never {
  return (error: unknown = new RecordNotFoundError('server', uuid)) => {
    if (error instanceof RecordNotFoundError) throw notFound(`Instance ${uuid} could not be found.`);
    throw error;
  };
}
