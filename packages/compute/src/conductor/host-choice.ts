import type { Records, ServiceRecord } from '../db/repositories.js';
import { Liveness, type LivenessOptions } from '../servicegroup/liveness.js';

/**
 * What a conductor knows of the hosts, as their reports tell. It remembers when it saw them come: of each cell for itself,
 * since hosts of two cells may have the same name.
 */
export class HostChoice {
  readonly #options: LivenessOptions;
  readonly #liveness = new WeakMap<Records, Liveness>();

  constructor(options: LivenessOptions = {}) {
    this.#options = options;
  }

  /** Which services of these records are up. */
  livenessOf(records: Records): Liveness {
    const known = this.#liveness.get(records) ?? new Liveness(this.#options);
    this.#liveness.set(records, known);
    return known;
  }

  /** Does the host take new requests, as its last report says: is it up, and does it not drain? */
  async takesRequests(records: Records, host: string): Promise<boolean> {
    const service = await this.#upService(records, host);
    return service?.state === 'running';
  }

  /** Is the host up, be it draining or not? */
  async isUp(records: Records, host: string): Promise<boolean> {
    return (await this.#upService(records, host)) !== undefined;
  }

  async #upService(records: Records, host: string): Promise<ServiceRecord | undefined> {
    const [service] = await records.services.find({ binary: 'compute', host });
    return service && this.livenessOf(records).isUp(service) ? service : undefined;
  }
}
