import type { CallerContext } from '@ebbgate/rpc';
import type { Records } from '../db/repositories.js';
import type { BlockDeviceMappingList } from '../objects/block-device.js';
import type { Instance } from '../objects/instance.js';
import type { NetworkRequestList } from '../objects/network-request.js';
import type { RequestSpec } from '../objects/request-spec.js';
import type { ConductorApi } from '../rpc/conductor-api.js';
import type { Dictionary } from '../rpc/kinds.js';

/** What is needed to boot an instance. */
export interface BootRequest {
  /** The instance to be built: its record is made from this. */
  readonly instance: Instance;
  /** What the host must offer. */
  readonly requestSpec: RequestSpec;
  /** Properties of the image, as Nova's API sends them. */
  readonly image: Dictionary;
  /** For the guest; null to let it be made. */
  readonly adminPassword: string | null;
  /** Null: those of the project. */
  readonly requestedNetworks: NetworkRequestList | null;
  /** Null: the image alone. */
  readonly blockDeviceMapping: BlockDeviceMappingList | null;
}

/** What users ask of their instances: checks the states and hands the work to a conductor. */
export class Servers {
  readonly #records: Records;
  readonly #conductor: ConductorApi;

  constructor(records: Records, conductor: ConductorApi) {
    this.#records = records;
    this.#conductor = conductor;
  }

  /** Writes the record of a new instance and has it built somewhere. Resolves with the record when the request is out. */
  async boot(context: CallerContext, request: BootRequest): Promise<Instance> {
    const wanted = request.instance.pristine();
    wanted.update({
      vm_state: 'building',
      task_state: 'scheduling',
      host: null,
      node: null,
      launched_on: null,
    });
    const instance = await this.#records.instances.create(
      wanted.update({ power_state: 0, launched_at: null }),
    );
    await this.#conductor.cast(context, 'schedule_and_build_instances', {
      build_requests: [instance],
      request_specs: [request.requestSpec],
      image: request.image,
      admin_password: request.adminPassword,
      injected_files: [],
      requested_networks: request.requestedNetworks,
      block_device_mapping: [request.blockDeviceMapping],
      tags: null,
    });
    return instance;
  }

  /**
   * Has an instance moved while it runs. Resolves when the request is out.
   * @param host - where to; null lets the conductor choose
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it neither runs nor is paused, or something else is being
   * done to it; RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  async liveMigrate(context: CallerContext, uuid: string, host: string | null): Promise<Instance> {
    const expected = { vm_state: ['active', 'paused'], task_state: [null] } as const;
    const instance = await this.#records.instances.update(uuid, { task_state: 'migrating' }, expected);
    await this.#conductor.cast(context, 'live_migrate_instance', {
      instance,
      scheduler_hint: host === null ? {} : { host },
      block_migration: null,
      disk_over_commit: null,
      request_spec: null,
    });
    return instance;
  }
}
