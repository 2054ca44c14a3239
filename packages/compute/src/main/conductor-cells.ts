import { ConfigurationError, type Logger, type Transport } from '@ebbgate/core';
import { type CellAccess, CellRegistry, type ConductorCells } from '../cells/cell-access.js';
import { orUndefined } from '../db/or-undefined.js';
import { type OpenCell, StoredCells } from '../cells/stored-cells.js';
import { storedNetworking } from '../conductor/conductor-service.js';
import type { Cell } from '../db/cells.js';
import { isPrivate } from '../db/database-url.js';
import type { LocalRecords } from '../db/local-records.js';
import { openRecords, waitForRecords } from '../db/open-records.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { LocalScheduler } from '../scheduler/local-scheduler.js';
import { Liveness } from '../servicegroup/liveness.js';
import { brokerAt } from './broker.js';
import type { CellFlags } from './cell-flags.js';
import type { ConductorDaemonOptions } from './daemon-options.js';

/** The cells of a conductor, or an API, that is a process, as long as it runs. */
export interface OpenCells {
  readonly cells: ConductorCells;
  /** Reads again which versions the hosts of the other cells have. */
  readonly refresh: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** What is told to a process that works in one of several cells. */
type CellsWanted = Pick<ConductorDaemonOptions, keyof CellFlags | 'driver' | 'exchange' | 'serviceDownTime'>;

/** What this process has open itself. */
export interface OwnCell {
  readonly records: LocalRecords;
  readonly transport: Transport;
  readonly api: ComputeApiOptions;
  readonly logger: Logger;
}

/**
 * Are there cells to be opened?
 * @param database - where the records of this process are; undefined: it has none
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when one of what is needed is missing
 */
export function hasCells({ cell, apiDatabase }: CellFlags, database: string | undefined): boolean {
  if (cell === undefined && apiDatabase === undefined) return false;
  if (cell === undefined || apiDatabase === undefined)
    throw new ConfigurationError('--cell and --api-database go together: give both');
  for (const [flag, url] of [
    ['--api-database', apiDatabase],
    ['--database', database],
  ] as const) {
    if (url === undefined || isPrivate(url))
      throw new ConfigurationError(`--cell needs a ${flag} that other processes can open, too`);
  }
  return true;
}

/**
 * Opens the API database, and waits for it; the other cells when they are needed.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when that does not know the cell; otherwise as {@link openRecords}
 */
export async function openCells(
  { cell: own = '', apiDatabase = '', driver, exchange, serviceDownTime }: CellsWanted,
  { records, transport, api, logger }: OwnCell,
): Promise<OpenCells> {
  const apiRecords = await waitForRecords(apiDatabase, logger);
  if (!(await orUndefined(apiRecords.cells.get(own)))) {
    await apiRecords.close();
    throw new ConfigurationError(`There is no cell ${own}: make it with ebbgate-compute cell create ${own}`);
  }
  const accessOf = (
    name: string,
    its: LocalRecords,
    way: Transport,
  ): CellAccess & { computeApi: ComputeApi } => {
    const computeApi = new ComputeApi(way, { services: its.services, ...api });
    const liveness = new Liveness({ serviceDownTimeMs: serviceDownTime * 1000 });
    const scheduler = new LocalScheduler({ records: its, logger, liveness });
    return {
      name,
      records: its,
      computeApi,
      scheduler,
      networking: storedNetworking(its, computeApi, logger),
    };
  };
  const open = async ({ name, transportUrl, databaseUrl }: Cell): Promise<OpenCell> => {
    const [its, openWay] = await Promise.all([
      openRecords(databaseUrl, { logger }),
      brokerAt(transportUrl, { driver, exchange }),
    ]);
    const way = openWay(logger);
    const access = accessOf(name, its, way);
    return {
      access,
      refresh: () => access.computeApi.refresh(),
      close: async () => {
        await Promise.all([way.close(), its.close()]);
      },
    };
  };
  const ownAccess = accessOf(own, records, transport);
  const source = new StoredCells({
    cells: apiRecords.cells,
    own: ownAccess,
    open,
    logger,
  });
  const registry = new CellRegistry({ mappings: apiRecords.mappings, source });
  return {
    cells: { own, registry },
    refresh: async () => {
      await Promise.all([ownAccess.computeApi.refresh(), source.refresh()]);
    },
    close: async () => {
      await source.close();
      await apiRecords.close();
    },
  };
}
