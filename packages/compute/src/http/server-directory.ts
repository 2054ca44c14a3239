import { ServerApi } from '../api/server-api.js';
import { isHidden } from '../cells/cell-access.js';
import type { Records, ServiceRecord } from '../db/repositories.js';
import type { Instance } from '../objects/instance.js';
import { cellOf, noServer, partsIn } from './all-cells.js';
import type { RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { notFound } from './http-error.js';
import { ADMIN_RULE } from './policy.js';
import { isUuid } from './read-input.js';
import type { ServiceCell } from './service-directory.js';

/** Who asks, and for which project. */
export type Asker = Pick<RouteInput<unknown, unknown>, 'caller' | 'context'>;

/** A server as a request names it, and what can be asked of it where it is. */
export interface FoundServer {
  readonly instance: Instance;
  readonly api: ServerApi;
}

/** The project that a request is for; null: none in particular. */
export function projectOf({ context }: Pick<Asker, 'context'>): string | null {
  const project = context.values['project_id'];
  return typeof project === 'string' ? project : null;
}

/** The servers of all cells: admins see all of them, others those of their project. */
export class ServerDirectory {
  readonly #parts: HttpParts;
  readonly #own: ServerApi;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#own = new ServerApi(parts);
  }

  /** The server with this id. @throws HttpError 404; 503 when its cell cannot be reached */
  async find(asker: Asker, id: string): Promise<FoundServer> {
    if (!isUuid(id)) throw notFound('There is no server of this id: it is no uuid.');
    const uuid = id.toLowerCase();
    const { cells } = this.#parts;
    const api = cells ? this.#apiIn(await cellOf(this.#parts, uuid)) : this.#own;
    const instance = await api.parts.records.instances.get(uuid).catch(noServer(uuid));
    if (this.#isSeen(asker, instance)) return { instance, api };
    throw notFound(`Instance ${uuid} could not be found.`);
  }

  /** May whoever asks know more than users do? */
  isAdmin({ caller }: Pick<Asker, 'caller'>): boolean {
    return this.#parts.policy.allows(ADMIN_RULE, caller);
  }

  /** The cell in which a new server is made that is wanted on such a host: the API's own, if it has one. */
  async where(isWanted: (service: ServiceRecord) => boolean): Promise<ServerApi> {
    const { records, cells } = this.#parts;
    const has = async ({ services }: Records): Promise<boolean> =>
      (await services.list('compute')).some(isWanted);
    if (!cells || (await has(records))) return this.#own;
    for (const cell of await cells.others('')) if (await has(cell.records)) return this.#apiIn(cell);
    return this.#own;
  }

  #isSeen(asker: Asker, instance: Instance): boolean {
    if (instance.find('deleted') === true || instance.get('vm_state') === 'deleted') return false;
    if (!this.#parts.cells && isHidden(instance)) return false;
    return this.isAdmin(asker) || instance.find('project_id') === projectOf(asker);
  }

  #apiIn(cell: ServiceCell): ServerApi {
    return new ServerApi(partsIn(this.#parts, cell));
  }
}
