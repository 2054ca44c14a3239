import type { InstanceMappings } from '../db/instance-mappings.js';
import type { Records } from '../db/repositories.js';
import { RecordNotFoundError } from '../errors.js';
import type { PortedNetworking } from '../network/networking.js';
import type { Instance } from '../objects/instance.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { Scheduler } from '../scheduler/scheduler.js';

/** A cell as those reach it who work across cells: its own database and its own broker. */
export interface CellAccess {
  /** What operators call it. */
  readonly name: string;
  /** Its database. */
  readonly records: Records;
  /** Its hosts, over its broker. */
  readonly computeApi: ComputeApi;
  /** Chooses among its hosts. */
  readonly scheduler: Scheduler;
  /** The ports of its instances. */
  readonly networking: PortedNetworking;
}

/** What of the image service is needed when an instance is sent through it. */
export interface ImageRemoval {
  /** Removes an image; does nothing when there is none. */
  remove(imageId: string): Promise<void>;
}

/** What a registry of cells is made of. */
export interface CellRegistryOptions {
  /** In which cell each instance is: one place for all cells. */
  readonly mappings: InstanceMappings;
  /** Where snapshots go; default: whoever has made one removes it. */
  readonly images?: ImageRemoval;
  /** How often a conductor shows the hosts that a move is still its affair; default 5000. */
  readonly beatMs?: number;
}

/** The cells that there are, by name, and who is in which. */
export class CellRegistry {
  /** In which cell each instance is that has left its own. */
  readonly mappings: InstanceMappings;
  /** Where snapshots go. */
  readonly images: ImageRemoval;
  /** How often a conductor shows that a move is still its affair. */
  readonly beatMs: number;
  readonly #cells = new Map<string, CellAccess>();

  constructor({ mappings, images, beatMs = 5000 }: CellRegistryOptions) {
    this.mappings = mappings;
    this.images = images ?? { remove: () => Promise.resolve() };
    this.beatMs = beatMs;
  }

  /** Adds a cell, in place of one of that name. */
  add(cell: CellAccess): void {
    this.#cells.set(cell.name, cell);
  }

  /** A cell by name. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  get(name: string): CellAccess {
    const cell = this.#cells.get(name);
    if (!cell) throw new RecordNotFoundError('cell', name);
    return cell;
  }

  /** All cells but one, by name. */
  others(name: string): readonly CellAccess[] {
    return [...this.#cells.values()]
      .filter((cell) => cell.name !== name)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The cell that a compute host reports to. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  async ofHost(host: string): Promise<CellAccess> {
    for (const cell of this.others('')) {
      const found = await orUndefined(cell.records.services.get('compute', host));
      if (found) return cell;
    }
    throw new RecordNotFoundError('cell of host', host);
  }

  /** The cell that an instance is in. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  async ofInstance(uuid: string): Promise<CellAccess> {
    const name = await this.mappings.find(uuid);
    if (name !== undefined) return this.get(name);
    for (const cell of this.others('')) {
      const found = await orUndefined(cell.records.instances.get(uuid));
      if (found && !isHidden(found)) return cell;
    }
    throw new RecordNotFoundError('instance', uuid);
  }
}

/** Is it only a copy, of an instance that is in another cell? */
export function isHidden(instance: Instance): boolean {
  return instance.find('hidden') === true;
}

/** What a conductor knows of cells, if there are several. */
export interface ConductorCells {
  /** The one that it works in. */
  readonly own: string;
  /** All of them, this one too. */
  readonly registry: CellRegistry;
}

async function orUndefined<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof RecordNotFoundError) return undefined;
    throw error;
  }
}
