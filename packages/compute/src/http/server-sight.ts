import type { Records, ServiceRecord } from '../db/repositories.js';
import type { Instance } from '../objects/instance.js';
import type { RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { ADMIN_RULE } from './policy.js';
import type { ServerLook } from './server-view.js';

type Input = Pick<RouteInput<unknown, unknown>, 'caller' | 'version' | 'links'>;

const SHOW = 'os_compute_api:servers:show';

/** With what servers are looked at: what the policy lets somebody see, and the hosts. */
export class ServerSight {
  readonly #parts: HttpParts;

  constructor(parts: HttpParts) {
    this.#parts = parts;
  }

  /** For one. @param records - of its cell */
  async of(input: Input, { services }: Records, instance: Instance): Promise<ServerLook> {
    const host = instance.find('host') ?? null;
    return this.#look(input, host === null ? [] : await services.find({ binary: 'compute', host }));
  }

  /** For any. @param records - of all cells */
  async ofAll(input: Input, { services }: Records): Promise<ServerLook> {
    return this.#look(input, await services.list('compute'));
  }

  #look({ caller, version, links }: Input, services: readonly ServiceRecord[]): ServerLook {
    const { policy, liveness } = this.#parts;
    const may = (rule: string): boolean => policy.allows(rule, caller);
    const byHost = new Map(services.map((service) => [service.host, service]));
    const seesStatus = may(`${SHOW}:host_status`);
    return {
      version,
      links,
      liveness,
      serviceOf: (host) => byHost.get(host),
      sees: {
        attributes: may('os_compute_api:os-extended-server-attributes'),
        hostStatus: !seesStatus && may(`${SHOW}:host_status:unknown-only`) ? 'unknown' : seesStatus,
        extraSpecs: may(`${SHOW}:flavor-extra-specs`),
        faults: may(ADMIN_RULE),
      },
    };
  }
}
