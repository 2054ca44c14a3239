import type { CallerContext } from '@ebbgate/rpc';
import type { BlockDeviceMappingList } from '../objects/block-device.js';
import { faultOf } from '../objects/instance-fault.js';
import type { Instance } from '../objects/instance.js';
import type { NetworkRequestList } from '../objects/network-request.js';
import type { RequestSpec } from '../objects/request-spec.js';
import type { Dictionary } from '../rpc/kinds.js';
import { type ActionParts } from './action-parts.js';
import { askHost } from './ask-host.js';
import { sendOrTakeBack } from './take-back.js';

/** What {@link Servers} works with: where instances and hosts are recorded, who does the work, which hosts are dead. */
export type ServersParts = Pick<ActionParts, 'records' | 'conductor' | 'liveness'>;

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

/** The states from which an instance can move while it runs. */
export const MOVES_LIVE = { vm_state: ['active', 'paused'], task_state: [null] } as const;

/** What users ask of their instances: checks the states and hands the work to a conductor. */
export class Servers {
  readonly #parts: ServersParts;

  constructor(parts: ServersParts) {
    this.#parts = parts;
  }

  /**
   * Writes the record of a new instance and has it built somewhere. Resolves with the record when the request is out. When
   * it could not be sent, the record stays, in ERROR, and the promise rejects with what the sending failed with.
   */
  async boot(context: CallerContext, request: BootRequest): Promise<Instance> {
    const wanted = request.instance.pristine();
    wanted.update({
      vm_state: 'building',
      task_state: 'scheduling',
      host: null,
      node: null,
      launched_on: null,
    });
    const { instances } = this.#parts.records;
    const instance = await instances.create(wanted.update({ power_state: 0, launched_at: null }));
    await sendOrTakeBack(
      () => this.#castBuild(context, instance, request),
      (error) =>
        instances.update(
          instance.get('uuid'),
          { vm_state: 'error', task_state: null, fault: faultOf(error, null) },
          { vm_state: ['building'], task_state: ['scheduling'] },
        ),
    );
    return instance;
  }

  /**
   * Has an instance moved while it runs. Resolves when the request is out; one that could not be sent leaves nothing behind.
   * @param host - where to; null lets the conductor choose
   * @param disks - `blockMigration`: they are copied, null lets the hosts decide; `diskOverCommit`: by their real sizes they
   * must fit, not by those that they may have. Default null
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when it neither runs nor is paused, or something else is being
   * done to it; HostDownError (`ERR_HOST_DOWN`) when its host is down (COMP-16); RecordNotFoundError (`ERR_NOT_FOUND`)
   */
  async liveMigrate(
    context: CallerContext,
    uuid: string,
    host: string | null,
    disks: { readonly blockMigration?: boolean | null; readonly diskOverCommit?: boolean | null } = {},
  ): Promise<Instance> {
    return askHost(this.#parts, uuid, 'migrating', MOVES_LIVE, (_source, instance) =>
      this.#parts.conductor.cast(context, 'live_migrate_instance', {
        instance,
        scheduler_hint: host === null ? {} : { host },
        block_migration: disks.blockMigration ?? null,
        disk_over_commit: disks.diskOverCommit ?? null,
        request_spec: null,
      }),
    );
  }

  async #castBuild(context: CallerContext, instance: Instance, request: BootRequest): Promise<void> {
    await this.#parts.conductor.cast(context, 'schedule_and_build_instances', {
      build_requests: [instance],
      request_specs: [request.requestSpec],
      image: request.image,
      admin_password: request.adminPassword,
      injected_files: [],
      requested_networks: request.requestedNetworks,
      block_device_mapping: [request.blockDeviceMapping],
      tags: null,
    });
  }
}
