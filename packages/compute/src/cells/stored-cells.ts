import type { Logger } from '@ebbgate/core';
import type { Cell, CellRepository } from '../db/cells.js';
import type { CellAccess, CellSource } from './cell-access.js';

/** A cell whose database and broker are open. */
export interface OpenCell {
  readonly access: CellAccess;
  /** Reads again which versions its hosts have. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** What cells that are told by a database are made of. */
export interface StoredCellsOptions {
  /** Where it is told which cells there are. */
  readonly cells: CellRepository;
  /** The one that this process works in: it is open already, and closed by others. */
  readonly own: CellAccess;
  /** Opens another one. What it rejects with is logged, and must tell no secret. */
  readonly open: (cell: Cell) => Promise<OpenCell>;
  readonly logger: Logger;
}

interface Entry {
  readonly cell: Cell;
  readonly opened: Promise<OpenCell>;
}

/**
 * The cells of an API database, each opened when it is first needed. A cell that was added, changed or removed there is so
 * here with the next question; what is under way goes on with what it has. One that cannot be reached keeps nobody from
 * reaching the others.
 */
export class StoredCells implements CellSource {
  readonly #options: StoredCellsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Of cells that were changed or removed: closed at the end. */
  readonly #left: Promise<OpenCell>[] = [];

  constructor(options: StoredCellsOptions) {
    this.#options = options;
  }

  async all(): Promise<readonly CellAccess[]> {
    const { cells, own, logger } = this.#options;
    const others = (await cells.list()).filter(({ name }) => name !== own.name);
    const names = new Set(others.map(({ name }) => name));
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#leave(name);
    const found = await Promise.all(
      others.map((cell) =>
        this.#access(cell).catch((error: unknown) => {
          logger.warn({ err: error, cell: cell.name }, 'A cell cannot be reached');
          return undefined;
        }),
      ),
    );
    return [own, ...found.filter((cell) => cell !== undefined)];
  }

  async get(name: string): Promise<CellAccess> {
    const { cells, own } = this.#options;
    return name === own.name ? own : this.#access(await cells.get(name));
  }

  /** Reads again which versions the hosts of all open cells have. */
  async refresh(): Promise<void> {
    const open = await Promise.all([...this.#entries.values()].map(({ opened }) => opened));
    await Promise.all(open.map((cell) => cell.refresh()));
  }

  /** Closes all that it has opened. */
  async close(): Promise<void> {
    for (const name of this.#entries.keys()) this.#leave(name);
    await Promise.allSettled(this.#left.splice(0).map(async (opened) => (await opened).close()));
  }

  async #access(cell: Cell): Promise<CellAccess> {
    const known = this.#entries.get(cell.name);
    const isSame =
      known?.cell.transportUrl === cell.transportUrl && known.cell.databaseUrl === cell.databaseUrl;
    if (known && isSame) return (await known.opened).access;
    this.#leave(cell.name);
    const entry = { cell, opened: this.#options.open(cell) };
    this.#entries.set(cell.name, entry);
    try {
      return (await entry.opened).access;
    } catch (error) {
      if (this.#entries.get(cell.name) === entry) this.#entries.delete(cell.name); // the next question tries again
      throw error;
    }
  }

  #leave(name: string): void {
    const entry = this.#entries.get(name);
    if (entry) this.#left.push(entry.opened);
    this.#entries.delete(name);
  }
}
