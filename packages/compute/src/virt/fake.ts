import { HypervisorError, MigrationPreCheckError } from '../errors.js';
import type { Networking } from '../network/networking.js';
import type { Instance } from '../objects/instance.js';
import { LibvirtLiveMigrateData } from '../objects/migrate-data.js';
import type { Guest, GuestState, LiveMigrateOptions, SpawnOptions, VirtDriver } from './driver.js';
import type { GuestStore, Hypervisors } from './hypervisors.js';
import type { Pause } from './pause.js';
import { StepControl } from './step-control.js';

/** How a fake hypervisor is made. */
export interface FakeVirtOptions {
  /** Where the guests of all hosts are. */
  readonly network: Hypervisors;
  /** Told which interfaces are plugged, so that it can confirm them. */
  readonly networking: Networking;
  /** How long a boot takes, without what it waits for. */
  readonly spawnMs: number;
  /** How long the memory of a guest takes to be copied. */
  readonly migrationMs: number;
  /** How time passes; default: by itself. */
  readonly pause?: Pause;
}

/** Pieces in which memory is copied; progress is told after each. */
const ROUNDS = 40;
const MB = 1024 * 1024;

/**
 * A hypervisor without guests to speak of: it knows which it has, takes its time, and fails when it is told to. It
 * stands for the machine, not for the process: what is on it survives a restart of the service.
 */
export class FakeVirtDriver implements VirtDriver {
  /** The host whose machine this is. */
  readonly host: string;
  /** Where failures and holds are ordered: what boots or moves a guest takes its steps there. */
  readonly steps: StepControl;
  readonly #options: FakeVirtOptions;
  readonly #machine: GuestStore;

  constructor(host: string, options: FakeVirtOptions) {
    this.host = host;
    this.#options = options;
    this.steps = new StepControl(options.pause);
    this.#machine = options.network.storeOf(host);
  }

  /** All guests of the machine, those of earlier runs of the service too. */
  async listGuests(): Promise<readonly Guest[]> {
    return [...this.#machine.guests()].map(([uuid, state]) => ({ uuid, state }));
  }

  /** The state of one guest; undefined when it is not on this machine. */
  async guestState(uuid: string): Promise<GuestState | undefined> {
    return this.#machine.state(uuid);
  }

  /** Guests that something was prepared for and that have not come. */
  get expected(): readonly string[] {
    return this.#machine.expected();
  }

  /**
   * Takes half of `spawnMs` for the disks and half, after `beforeStart`, for the start (steps `create-disks`,
   * `plug-vifs`, `start-guest`). When a step fails no guest is left.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest is here already; OperationAbortedError (`ERR_ABORTED`)
   */
  async spawn(instance: Instance, { signal, beforeStart }: SpawnOptions = {}): Promise<void> {
    const uuid = instance.get('uuid');
    if (this.#has(uuid)) throw new HypervisorError(`Guest ${uuid} is here already`);
    const half = this.#options.spawnMs / 2;
    await this.steps.take('create-disks', half, signal);
    this.#machine.set(uuid, 'paused');
    try {
      await this.steps.take('plug-vifs', 0, signal);
      await this.#options.networking.plug(uuid, this.host);
      await beforeStart?.();
      await this.steps.take('start-guest', half, signal);
      this.#machine.set(uuid, 'running');
    } catch (error) {
      this.#machine.remove(uuid);
      throw error;
    }
  }

  /** Removes the guest at once; does nothing when it is not here. */
  async destroy(uuid: string): Promise<void> {
    this.#machine.remove(uuid);
  }

  /**
   * Agrees to every wish (step `check-destination`).
   * @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) when the guest is here already
   */
  async checkCanLiveMigrateDestination(
    instance: Instance,
    wishes: { readonly blockMigration: boolean | null; readonly diskOverCommit: boolean | null },
  ): Promise<LibvirtLiveMigrateData> {
    await this.steps.take('check-destination', 0);
    if (this.#has(instance.get('uuid'))) throw new MigrationPreCheckError('The guest is here already');
    return LibvirtLiveMigrateData.create({
      filename: `tmp${instance.get('uuid').slice(0, 8)}`,
      image_type: 'qcow2',
      block_migration: wishes.blockMigration ?? false,
      disk_over_commit: wishes.diskOverCommit ?? false,
      disk_available_mb: 1024,
    });
  }

  /**
   * Completes the data: the ends share their disks, and not the folder (step `check-source`).
   * @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) when the guest is not here
   */
  async checkCanLiveMigrateSource(
    instance: Instance,
    data: LibvirtLiveMigrateData,
  ): Promise<LibvirtLiveMigrateData> {
    await this.steps.take('check-source', 0);
    if (!this.#has(instance.get('uuid'))) throw new MigrationPreCheckError('The guest is not here');
    return data.clone().update({
      is_shared_instance_path: false,
      is_shared_block_storage: true,
      instance_relative_path: instance.get('uuid'),
      is_volume_backed: false,
    });
  }

  /** Expects the guest and plugs its interfaces, for which the source is to wait (step `pre-live-migration`). */
  async preLiveMigration(instance: Instance, data: LibvirtLiveMigrateData): Promise<LibvirtLiveMigrateData> {
    const uuid = instance.get('uuid');
    this.#machine.expect(uuid);
    await this.steps.take('pre-live-migration', 0);
    await this.#options.networking.plug(uuid, this.host);
    return data.clone().update({ old_vol_attachment_ids: {}, wait_for_vif_plugged: true });
  }

  /**
   * Copies memory for `migrationMs`, in equal pieces (step `copy-memory` for each), then hands the guest over (step
   * `switch-over`). It runs here until then, also when this rejects.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest is not here, or not expected there;
   * OperationAbortedError (`ERR_ABORTED`)
   */
  async liveMigrate(
    instance: Instance,
    dest: string,
    _data: LibvirtLiveMigrateData,
    { signal, onProgress }: LiveMigrateOptions = {},
  ): Promise<void> {
    const uuid = instance.get('uuid');
    if (!this.#has(uuid)) throw new HypervisorError(`Guest ${uuid} is not here`);
    const total = instance.get('memory_mb') * MB;
    for (let round = 1; round <= ROUNDS; round += 1) {
      await this.steps.take('copy-memory', this.#options.migrationMs / ROUNDS, signal);
      const processed = Math.round((total * round) / ROUNDS);
      onProgress?.({ total, processed, remaining: total - processed });
    }
    await this.steps.take('switch-over', 0, signal);
    if (!this.#machine.move(uuid, dest)) throw new HypervisorError(`${dest} does not expect guest ${uuid}`);
  }

  /** Step `post-at-source`, and no more: nothing is left here. */
  async postLiveMigrationAtSource(_instance: Instance): Promise<void> {
    await this.steps.take('post-at-source', 0);
  }

  /**
   * Step `post-at-destination`.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest has not come
   */
  async postLiveMigrationAtDestination(instance: Instance): Promise<void> {
    await this.steps.take('post-at-destination', 0);
    if (!this.#has(instance.get('uuid'))) throw new HypervisorError('The guest has not come');
  }

  /** Expects the guest no longer (step `rollback-at-destination`). There are no disks to destroy. */
  async rollbackLiveMigrationAtDestination(
    instance: Instance,
    _options: { readonly destroyDisks: boolean },
  ): Promise<void> {
    await this.steps.take('rollback-at-destination', 0);
    this.#machine.unexpect(instance.get('uuid'));
  }

  /** Does nothing. */
  async disconnectVolume(_instance: Instance, _volumeId: string): Promise<void> {
    // Fake disks have no connections.
  }

  #has(uuid: string): boolean {
    return this.#machine.state(uuid) !== undefined;
  }
}
