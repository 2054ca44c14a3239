import type { CallerContext } from '@ebbgate/rpc';
import type { Records } from '../db/repositories.js';
import type { InstanceExternalEvent } from '../objects/external-event.js';
import { isFinal } from '../objects/states.js';
import type { ComputeApi } from '../rpc/compute-api.js';

/**
 * Hands events of other services to the hosts concerned: that of the instance, and both ends of a migration that is
 * under way (`compute-rpc.md` 3.8). One cast to each host, on the ops topic, so that a host that drains hears of them.
 */
export class ExternalEvents {
  readonly #records: Records;
  readonly #computeApi: ComputeApi;

  constructor(records: Records, computeApi: ComputeApi) {
    this.#records = records;
    this.#computeApi = computeApi;
  }

  /**
   * Resolves when the broker has the event for each host. A host that cannot be told does not keep the event from the
   * others: all are tried, and then it rejects with what went wrong, an AggregateError when that is more than one thing.
   * @throws RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  async send(context: CallerContext, event: InstanceExternalEvent): Promise<void> {
    const instance = await this.#records.instances.get(event.get('instance_uuid'));
    const hosts = new Set<string>();
    const host = instance.find('host');
    if (host) hosts.add(host);
    for (const migration of await this.#records.migrations.find({ instance_uuid: instance.get('uuid') })) {
      // The other end of a move to another cell is told there.
      if (isFinal(migration.get('status')) || migration.find('cross_cell_move') === true) continue;
      hosts.add(migration.get('source_compute'));
      const dest = migration.find('dest_compute');
      if (dest) hosts.add(dest);
    }
    const args = { instances: [instance], events: [event] };
    const sent = await Promise.allSettled(
      [...hosts].map(async (each) => this.#computeApi.cast(context, 'external_instance_event', each, args)),
    );
    const failures = sent.filter((one) => one.status === 'rejected').map(({ reason }): unknown => reason);
    if (failures.length > 1) throw new AggregateError(failures, 'Some hosts could not be sent an event');
    if (failures.length === 1) throw failures[0];
  }
}
