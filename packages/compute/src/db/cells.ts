import { RecordNotFoundError } from '../errors.js';

/** How a cell is reached. Shows neither of its URLs in logs, JSON or on a console: they hold passwords. */
export class Cell {
  readonly #transportUrl: string;
  readonly #databaseUrl: string;
  /** What operators call it. */
  readonly name: string;

  constructor(parts: { readonly name: string; readonly transportUrl: string; readonly databaseUrl: string }) {
    this.name = parts.name;
    this.#transportUrl = parts.transportUrl;
    this.#databaseUrl = parts.databaseUrl;
  }

  /** Its broker, password included. */
  get transportUrl(): string {
    return this.#transportUrl;
  }

  /** Its database, password included. */
  get databaseUrl(): string {
    return this.#databaseUrl;
  }

  /** What may be shown. */
  toJSON(): { readonly name: string } {
    return { name: this.name };
  }

  /** What may be shown. */
  toString(): string {
    return `cell ${this.name}`;
  }
}

/** The cells that there are. */
export interface CellRepository {
  /** Writes a cell, in place of one of that name. */
  save(cell: Cell): Promise<void>;
  /**
   * One cell.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  get(name: string): Promise<Cell>;
  /** All of them, by name. */
  list(): Promise<readonly Cell[]>;
  /** Forgets a cell; nothing when there is none of that name. */
  remove(name: string): Promise<void>;
}

/** The cells, in memory. */
export class MemoryCells implements CellRepository {
  readonly #cells = new Map<string, Cell>();

  async save(cell: Cell): Promise<void> {
    this.#cells.set(cell.name, cell);
  }

  async get(name: string): Promise<Cell> {
    const cell = this.#cells.get(name);
    if (cell === undefined) throw new RecordNotFoundError('cell', name);
    return cell;
  }

  async list(): Promise<readonly Cell[]> {
    return [...this.#cells.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async remove(name: string): Promise<void> {
    this.#cells.delete(name);
  }
}
