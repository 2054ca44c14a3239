import type { InstanceMappings } from '../db/instance-mappings.js';
import { orUndefined } from '../db/or-undefined.js';
import type { Records } from '../db/repositories.js';
import { RecordNotFoundError } from '../errors.js';
import type { PortedNetworking } from '../network/networking.js';
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

/** Where it is told which cells there are, and how each is reached. */
export interface CellSource {
  /** All that can be reached now, in any order. */
  all(): Promise<readonly CellAccess[]>;
  /** One by name. @throws RecordNotFoundError (`ERR_NOT_FOUND`); what opening it rejects with */
  get(name: string): Promise<CellAccess>;
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
  /** Cells besides those that are added; asked each time. Default: there are none. */
  readonly source?: CellSource;
  /** Where snapshots go; default: whoever has made one removes it. */
  readonly images?: ImageRemoval;
  /** How often a conductor shows that a move is still its affair, and looks for moves that are nobody's; default 5000. */
  readonly beatMs?: number;
  /** A move that nobody has touched for so long is nobody's: it is taken up; default six times `beatMs`. */
  readonly takeOverMs?: number;
}

/** The cells that there are, by name, and who is in which. */
export class CellRegistry {
  /** In which cell each instance is that has left its own. */
  readonly mappings: InstanceMappings;
  /** Where snapshots go. */
  readonly images: ImageRemoval;
  /** How often a conductor shows that a move is still its affair. */
  readonly beatMs: number;
  /** After how long without a touch a move is nobody's. */
  readonly takeOverMs: number;
  readonly #source: CellSource | undefined;
  readonly #added = new Map<string, CellAccess>();

  constructor({ mappings, source, images, beatMs = 5000, takeOverMs = 6 * beatMs }: CellRegistryOptions) {
    this.mappings = mappings;
    this.images = images ?? { remove: () => Promise.resolve() };
    this.beatMs = beatMs;
    this.takeOverMs = takeOverMs;
    this.#source = source;
  }

  /** Adds a cell, in place of one of that name. */
  add(cell: CellAccess): void {
    this.#added.set(cell.name, cell);
  }

  /** A cell by name. @throws RecordNotFoundError (`ERR_NOT_FOUND`); what opening it rejects with */
  async get(name: string): Promise<CellAccess> {
    const cell = this.#added.get(name) ?? (await this.#source?.get(name));
    if (!cell) throw new RecordNotFoundError('cell', name);
    return cell;
  }

  /** All cells that can be reached but one, by name. */
  async others(name: string): Promise<readonly CellAccess[]> {
    const found = [...this.#added.values(), ...((await this.#source?.all()) ?? [])];
    return found.filter((cell) => cell.name !== name).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The cell that an instance is in. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  async ofInstance(uuid: string): Promise<CellAccess> {
    const name = await this.mappings.find(uuid);
    if (name !== undefined) return this.get(name);
    for (const cell of await this.others('')) {
      const found = await orUndefined(cell.records.instances.get(uuid));
      if (found && !isHidden(found)) return cell;
    }
    throw new RecordNotFoundError('instance', uuid);
  }
}

/** Is it only a copy, of an instance that is in another cell? Or of its migration? */
export function isHidden(record: { find(name: 'hidden'): boolean | undefined }): boolean {
  return record.find('hidden') === true;
}

/** What a conductor knows of cells, if there are several. */
export interface ConductorCells {
  /** The one that it works in. */
  readonly own: string;
  /** All of them, this one too. */
  readonly registry: CellRegistry;
}
