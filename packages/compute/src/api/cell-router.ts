import type { CellRegistry } from '../cells/cell-access.js';
import { RecordNotFoundError } from '../errors.js';

/** Of several cells, each with what users can ask there, the one that an instance is in. */
export class CellRouter<Api> {
  readonly #registry: CellRegistry;
  readonly #apis: ReadonlyMap<string, Api>;

  /** @param apis - by the names of the cells */
  constructor(registry: CellRegistry, apis: ReadonlyMap<string, Api>) {
    this.#registry = registry;
    this.#apis = apis;
  }

  /** What users can ask of an instance, where that is now. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  async of(instanceUuid: string): Promise<Api> {
    const { name } = await this.#registry.ofInstance(instanceUuid);
    const api = this.#apis.get(name);
    if (api === undefined) throw new RecordNotFoundError('cell', name);
    return api;
  }
}
