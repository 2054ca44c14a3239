import { type RequestContext, silentLogger, type Transport } from '@ebbgate/core';
import { RemoteApi, type RemoteApiOptions } from '../api/remote-api.js';
import { UnitedRecords } from '../cells/united-records.js';
import type { LocalRecords } from '../db/local-records.js';
import { openRecords } from '../db/open-records.js';
import { RecordNotFoundError } from '../errors.js';
import { performWork } from '../operator/perform-work.js';
import type { Terminal } from '../operator/terminal.js';
import { type Operated, OPERATOR, OperatorError, OperatorUsageError, type Work } from '../operator/work.js';
import { novaContext } from '../rpc/nova-context.js';
import { Liveness } from '../servicegroup/liveness.js';
import { brokerAt } from './broker.js';
import type { Reach } from './operator-reach.js';

interface OperatorCell {
  readonly name: string;
  readonly transport: Transport;
  readonly api: RemoteApi;
}

/** Who asks. */
export function operatorContext(): RequestContext {
  return novaContext({ ...OPERATOR, isAdmin: true });
}

/** What can be asked of a cell over its broker. */
export function remoteApiOf(
  transport: Transport,
  { rpc, timeoutMs, serviceDownTimeMs }: Reach,
  cells?: RemoteApiOptions['cells'],
): RemoteApi {
  const { computeVersionCap: versionCap, opsTopic, topics } = rpc;
  return new RemoteApi(transport, {
    api: { versionCap, topics, rpcTimeoutMs: timeoutMs, ...(opsTopic !== undefined && { opsTopic }) },
    timeoutMs,
    liveness: new Liveness({ serviceDownTimeMs }),
    ...(cells && { cells }),
  });
}

/** Does a command in all cells of an API database. Rejects when that cannot be opened. */
export async function overCells(
  reach: Reach & { readonly apiDatabase: string },
  work: Work,
  terminal: Terminal,
): Promise<number> {
  const records = await openRecords(reach.apiDatabase, { logger: silentLogger });
  let cells: readonly OperatorCell[] = [];
  try {
    cells = await openAll(records, reach);
    return await performWork(work, operatedCells(cells, records, reach), terminal);
  } finally {
    await Promise.all([records.close(), ...cells.map(({ transport }) => transport.close())]);
  }
}

async function openAll({ cells }: LocalRecords, reach: Reach): Promise<readonly OperatorCell[]> {
  const opened = new Map<string, OperatorCell>();
  const get = async (name: string): Promise<RemoteApi> => {
    const cell = opened.get(name);
    if (cell) return cell.api;
    throw new RecordNotFoundError('cell', name);
  };
  for (const { name, transportUrl } of await cells.list()) {
    const transport = (await brokerAt(transportUrl, reach))(silentLogger);
    opened.set(name, { name, transport, api: remoteApiOf(transport, reach, { get }) });
  }
  if (opened.size > 0) return [...opened.values()];
  throw new OperatorError('The API database knows no cell: make one with ebbgate-compute cell create');
}

function operatedCells(
  cells: readonly OperatorCell[],
  { mappings }: LocalRecords,
  { cell, serviceDownTimeMs }: Reach,
): Operated {
  const sights = cells.map(({ name, api }) => ({ name, records: api.records }));
  const records = new UnitedRecords(sights, mappings);
  const named = (name: string): RemoteApi => {
    const found = cells.find((one) => one.name === name);
    if (found) return found.api;
    throw new OperatorError(`There is no cell ${name}; there is ${cells.map((one) => one.name).join(', ')}`);
  };
  return {
    api: { records, liveness: new Liveness({ serviceDownTimeMs }) },
    apiOf: async (uuid) => named(await records.cellOf(uuid)),
    apiFor: async (host) => {
      if (cell !== undefined) return named(cell);
      for (const { api } of cells) {
        const hosts = host === null ? [] : await api.records.services.list('compute');
        if (hosts.some((one) => one.host === host)) return api;
      }
      const [only, ...more] = cells;
      if (only && more.length === 0) return only.api;
      throw new OperatorUsageError(`In which cell? Give --cell: ${cells.map(({ name }) => name).join(', ')}`);
    },
    context: operatorContext(),
  };
}
