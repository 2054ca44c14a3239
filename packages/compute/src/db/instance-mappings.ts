/** In which cell each instance is, as the API sees it. */
export interface InstanceMappings {
  /** The name of the cell; undefined: the instance has never left the one that it was made in. */
  find(instanceUuid: string): Promise<string | undefined>;
  /** From now on, in one step, the instance is in that cell. */
  set(instanceUuid: string, cell: string): Promise<void>;
  /** How many instances are said to be in a cell. */
  countIn(cell: string): Promise<number>;
}

/** The mappings, in memory. */
export class MemoryMappings implements InstanceMappings {
  readonly #cells = new Map<string, string>();

  async find(instanceUuid: string): Promise<string | undefined> {
    return this.#cells.get(instanceUuid);
  }

  async set(instanceUuid: string, cell: string): Promise<void> {
    this.#cells.set(instanceUuid, cell);
  }

  async countIn(cell: string): Promise<number> {
    return [...this.#cells.values()].filter((one) => one === cell).length;
  }
}
