import type { Resources } from '../db/repositories.js';
import type { Instance } from '../objects/instance.js';
import type { LibvirtLiveMigrateData } from '../objects/migrate-data.js';
import type { VirtActions } from './actions.js';
import type { ColdMoves } from './cold-moves.js';
import type { GuestControl } from './guest-control.js';
import type { SnapshotMoves } from './snapshot-moves.js';
import type { ImageCache } from './images.js';
import type { WorkOptions } from './work-options.js';

/** What a guest does, as the hypervisor sees it. */
export type GuestState = 'running' | 'paused' | 'shutdown';

/** A virtual machine, as its hypervisor sees it. */
export interface Guest {
  /** Of its instance. */
  readonly uuid: string;
  /** Whether it runs. */
  readonly state: GuestState;
}

/** What is on its way to another host, in bytes. */
export interface CopyProgress {
  /** Bytes in all. */
  readonly total: number;
  /** Bytes copied; more than `total` when some had to be copied again. */
  readonly processed: number;
  /** Bytes still to be copied. */
  readonly remaining: number;
}

/** How far a live migration is. */
export interface MigrationProgress {
  /** The guest's memory. */
  readonly memory: CopyProgress;
  /** Its disks; `total` is 0 when the hosts share them. */
  readonly disk: CopyProgress;
}

/** How a guest is removed. */
export interface DestroyOptions {
  /** Its disks stay, since a guest elsewhere has them; default: they go too. */
  readonly keepDisks?: boolean;
}

/** What a boot may be given. */
export interface SpawnOptions extends WorkOptions {
  /** Called when the guest is made and its interfaces are plugged; the guest starts when it resolves. */
  readonly beforeStart?: () => Promise<void>;
}

/** How a live migration is run. */
export interface LiveMigrateOptions extends WorkOptions {
  /** Told again and again while the guest is copied. */
  readonly onProgress?: (progress: MigrationProgress) => void;
  /**
   * Called when the copying was forced to end: the guest stands still until the rest is there (post-copy), which goes on
   * when this resolves. From now on `signal` must not abort any more, but with the process.
   */
  readonly onPostCopy?: () => Promise<void>;
}

/**
 * What a hypervisor must do for a compute host. Everything rejects with HypervisorError (`ERR_HYPERVISOR`) when the
 * hypervisor cannot do it. A call is about one instance; two calls about the same one never overlap.
 */
export interface VirtDriver extends VirtActions {
  /** What it does for instances that move while they are shut down. */
  readonly coldMoves: ColdMoves;
  /** What it does, besides, for those that move to another cell. */
  readonly snapshotMoves: SnapshotMoves;
  /** What else it does to guests that stay where they are: pauses them, mends them, gives them disks. */
  readonly control: GuestControl;
  /** Images that it keeps for new instances. */
  readonly imageCache: ImageCache;
  /** What the machine has in all, whatever is used of it. */
  resources(): Promise<Resources>;
  /** The guests that are on this host, whatever the records say. */
  listGuests(): Promise<readonly Guest[]>;
  /** The state of one guest; undefined when it is not here. */
  guestState(uuid: string): Promise<GuestState | undefined>;
  /** Makes disks and starts the guest. When it rejects nothing is left behind. */
  spawn(instance: Instance, options?: SpawnOptions): Promise<void>;
  /** Ends the guest and removes what is left of it; does nothing when it is not here. */
  destroy(uuid: string, options?: DestroyOptions): Promise<void>;
  /** On the destination: may the guest come here? @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) */
  checkCanLiveMigrateDestination(
    instance: Instance,
    wishes: { readonly blockMigration: boolean | null; readonly diskOverCommit: boolean | null },
  ): Promise<LibvirtLiveMigrateData>;
  /** On the source: may the guest leave for there? @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) */
  checkCanLiveMigrateSource(
    instance: Instance,
    data: LibvirtLiveMigrateData,
  ): Promise<LibvirtLiveMigrateData>;
  /** On the destination: prepares disks and interfaces. */
  preLiveMigration(instance: Instance, data: LibvirtLiveMigrateData): Promise<LibvirtLiveMigrateData>;
  /** On the source: resolves when the guest runs at the destination and no longer here. When it rejects it runs here. */
  liveMigrate(
    instance: Instance,
    dest: string,
    data: LibvirtLiveMigrateData,
    options?: LiveMigrateOptions,
  ): Promise<void>;
  /** On the source, after the guest has left: disconnects and removes what is left. */
  postLiveMigrationAtSource(instance: Instance): Promise<void>;
  /** On the destination, after the guest has come: makes it permanent. */
  postLiveMigrationAtDestination(instance: Instance): Promise<void>;
  /** On the destination: takes back what preLiveMigration did; does nothing when there is nothing. */
  rollbackLiveMigrationAtDestination(
    instance: Instance,
    options: { readonly destroyDisks: boolean },
  ): Promise<void>;
  /** On the destination: takes back the connection of one volume; does nothing when there is none. */
  disconnectVolume(instance: Instance, volumeId: string): Promise<void>;
}
