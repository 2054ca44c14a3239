import type { Resources } from '../db/repositories.js';
import { HypervisorError, MigrationPreCheckError } from '../errors.js';
import type { Networking } from '../network/networking.js';
import type { Instance } from '../objects/instance.js';
import { LibvirtLiveMigrateData } from '../objects/migrate-data.js';
import type { Guest, GuestState, LiveMigrateOptions, SpawnOptions, VirtDriver } from './driver.js';
import { FakeActions, type FakeActionsOptions } from './fake-actions.js';
import { FakeColdMoves } from './fake-cold-moves.js';
import { type CopyPlan, FakeCopying } from './fake-copying.js';
import { guestOf, NO_ORDERS } from './fake-orders.js';
import { FakeGuestControl } from './fake-guest-control.js';
import { FakeSnapshotMoves } from './fake-snapshot-moves.js';
import { FakeImages } from './images.js';

/** How a fake hypervisor is made. */
export interface FakeVirtOptions extends FakeActionsOptions {
  /** Told which interfaces are plugged, so that it can confirm them. */
  readonly networking: Networking;
  /** How long a boot takes, without what it waits for. */
  readonly spawnMs: number;
  /** How long the memory of a guest takes to be copied. */
  readonly migrationMs: number;
  /** What the machine has; default 64 CPUs, 256 GiB of memory, 4 TiB of disk. */
  readonly resources?: Resources;
}

const MACHINE: Resources = Object.freeze({ vcpus: 64, memoryMb: 262_144, diskGb: 4096 });

/**
 * A hypervisor without guests to speak of: it knows which it has, takes its time, and fails when it is told to. It
 * stands for the machine, not for the process: what is on it survives a restart of the service.
 */
export class FakeVirtDriver extends FakeActions implements VirtDriver {
  /** What it does for instances that move while they are shut down; disks take `migrationMs` to be copied. */
  readonly coldMoves: FakeColdMoves;
  /** What it does for those that move to another cell. */
  readonly snapshotMoves: FakeSnapshotMoves;
  /** What else it does to guests that stay here. */
  readonly control: FakeGuestControl;
  /** What it keeps for new instances. */
  readonly imageCache: FakeImages;
  readonly #options: FakeVirtOptions;
  /** Live migrations that copy, by guest. */
  readonly #copying = new Map<string, FakeCopying>();

  constructor(host: string, options: FakeVirtOptions) {
    super(host, options);
    this.#options = options;
    const { network, networking, spawnMs, migrationMs: copyMs } = options;
    this.coldMoves = new FakeColdMoves({ host, network, networking, steps: this.steps, copyMs });
    this.snapshotMoves = new FakeSnapshotMoves({ host, network, networking, steps: this.steps, spawnMs });
    const { machine, steps } = this;
    this.control = new FakeGuestControl({ machine, steps, actionMs: options.actionMs ?? 0 });
    this.imageCache = new FakeImages(this.steps);
  }

  /** What was ordered, or the default. */
  async resources(): Promise<Resources> {
    return this.#options.resources ?? MACHINE;
  }

  /** All guests of the machine, those of earlier runs of the service too. */
  async listGuests(): Promise<readonly Guest[]> {
    return [...this.machine.guests()].map(([uuid, state]) => ({ uuid, state }));
  }

  /** The state of one guest; undefined when it is not on this machine. */
  async guestState(uuid: string): Promise<GuestState | undefined> {
    return this.machine.state(uuid);
  }

  /** Guests that something was prepared for and that have not come. */
  get expected(): readonly string[] {
    return this.machine.expected();
  }

  /** What is kept of guests that have left by a cold move and may be taken back. */
  get kept(): readonly string[] {
    return this.machine.kept();
  }

  /**
   * Takes half of `spawnMs` for the disks and half, after `beforeStart`, for the start (steps `create-disks`,
   * `plug-vifs`, `start-guest`). When a step fails no guest is left.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest is here already; OperationAbortedError (`ERR_ABORTED`)
   */
  async spawn(instance: Instance, { signal, beforeStart }: SpawnOptions = {}): Promise<void> {
    const guest = guestOf(instance);
    const { uuid } = guest;
    if (this.#has(uuid)) throw new HypervisorError(`Guest ${uuid} is here already`);
    const half = this.#options.spawnMs / 2;
    await this.steps.take('create-disks', half, { guest, signal });
    this.machine.set(uuid, 'paused');
    try {
      await this.steps.take('plug-vifs', 0, { guest, signal });
      await this.#options.networking.plug(uuid, this.host);
      await beforeStart?.();
      await this.steps.take('start-guest', half, { guest, signal });
      this.machine.set(uuid, 'running');
    } catch (error) {
      this.machine.remove(uuid);
      throw error;
    }
  }

  /**
   * Agrees to every wish (step `check-destination`).
   * @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) when the guest is here already
   */
  async checkCanLiveMigrateDestination(
    instance: Instance,
    wishes: { readonly blockMigration: boolean | null; readonly diskOverCommit: boolean | null },
  ): Promise<LibvirtLiveMigrateData> {
    await this.steps.take('check-destination', 0, { guest: guestOf(instance) });
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
    await this.steps.take('check-source', 0, { guest: guestOf(instance) });
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
    this.machine.expect(uuid);
    await this.steps.take('pre-live-migration', 0, { guest: guestOf(instance) });
    await this.#options.networking.plug(uuid, this.host);
    return data.clone().update({ old_vol_attachment_ids: {}, wait_for_vif_plugged: true });
  }

  /**
   * Copies what is ordered, by default all memory in `migrationMs` (step `copy-memory` for each piece, `post-copy` once it
   * is forced), then hands the guest over (step `switch-over`). It is here until then, also when this rejects.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest is not here, or not expected there;
   * OperationAbortedError (`ERR_ABORTED`)
   */
  async liveMigrate(
    instance: Instance,
    dest: string,
    _data: LibvirtLiveMigrateData,
    options: LiveMigrateOptions = {},
  ): Promise<void> {
    const guest = guestOf(instance);
    const { uuid } = guest;
    if (!this.#has(uuid)) throw new HypervisorError(`Guest ${uuid} is not here`);
    const copying = new FakeCopying(this.steps, guest, this.#planFor(instance));
    this.#copying.set(uuid, copying);
    try {
      await copying.run(options);
      await this.steps.take('switch-over', 0, { guest, signal: options.signal });
    } finally {
      this.#copying.delete(uuid);
    }
    if (!this.machine.move(uuid, dest)) throw new HypervisorError(`${dest} does not expect guest ${uuid}`);
  }

  #planFor(instance: Instance): CopyPlan {
    const { migrationMs, orders = NO_ORDERS } = this.#options;
    const memoryMib = instance.get('memory_mb');
    const order = orders.of(guestOf(instance));
    return {
      memoryMib: order.copyMib ?? memoryMib,
      diskMib: order.diskMib ?? 0,
      bandwidthMibS: order.bandwidthMibS ?? (memoryMib / migrationMs) * 1000,
      dirtyMibS: order.dirtyMibS ?? 0,
    };
  }

  /**
   * The guest stands still while the rest is copied.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when this guest is not being copied
   */
  async forceComplete(uuid: string): Promise<void> {
    const copying = this.#copying.get(uuid);
    if (!copying) throw new HypervisorError(`Guest ${uuid} is not being copied`);
    copying.force();
  }

  /** Step `post-at-source`, and no more: nothing is left here. */
  async postLiveMigrationAtSource(instance: Instance): Promise<void> {
    await this.steps.take('post-at-source', 0, { guest: guestOf(instance) });
  }

  /**
   * Step `post-at-destination`.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest has not come
   */
  async postLiveMigrationAtDestination(instance: Instance): Promise<void> {
    await this.steps.take('post-at-destination', 0, { guest: guestOf(instance) });
    if (!this.#has(instance.get('uuid'))) throw new HypervisorError('The guest has not come');
  }

  /** Expects the guest no longer (step `rollback-at-destination`). There are no disks to destroy. */
  async rollbackLiveMigrationAtDestination(
    instance: Instance,
    _options: { readonly destroyDisks: boolean },
  ): Promise<void> {
    await this.steps.take('rollback-at-destination', 0, { guest: guestOf(instance) });
    this.machine.unexpect(instance.get('uuid'));
  }

  /** Step `disconnect-volume`, and no more: fake disks have no connections. */
  async disconnectVolume(instance: Instance, _volumeId: string): Promise<void> {
    await this.steps.take('disconnect-volume', 0, { guest: guestOf(instance) });
  }

  #has(uuid: string): boolean {
    return this.machine.state(uuid) !== undefined;
  }
}
