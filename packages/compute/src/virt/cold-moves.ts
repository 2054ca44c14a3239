import type { Instance } from '../objects/instance.js';
import type { WorkOptions } from './work-options.js';

/** How a guest is made of disks that are there. */
export interface RestartOptions extends WorkOptions {
  /** Whether it is started, or stays shut down. */
  readonly powerOn: boolean;
  /** Called when its interfaces are plugged; the guest starts when it resolves. Not called when it stays shut down. */
  readonly beforeStart?: () => Promise<void>;
}

/**
 * What a hypervisor does for instances that move while they are shut down, to another host, another size, or both
 * (`compute-rpc.md` 3.2 to 3.4). Rejects as VirtDriver does.
 */
export interface ColdMoves {
  /** On the destination: may the guest come here? @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) */
  checkDestination(instance: Instance): Promise<void>;
  /**
   * On the source: shuts the guest down and copies its disks to `dest`. What is here is kept, apart from the guests, until
   * the move is confirmed or reverted. Resolves with what the destination has to know of the disks.
   * @throws RolledBackError (`ERR_ROLLED_BACK`) when the guest does what it did before. After any other error it is here
   * all the same, perhaps shut down. In both cases nothing is left at the destination
   */
  migrateDiskAndPowerOff(instance: Instance, dest: string, options?: WorkOptions): Promise<string>;
  /**
   * On the destination: makes a guest of the disks that have come, in the size that the instance has now. When it rejects
   * the disks stay. When it was cut off it can be called again.
   * @param diskInfo - from the source; null: it is lost, look at the disks
   */
  finishMigration(instance: Instance, diskInfo: string | null, options: RestartOptions): Promise<void>;
  /** On the source: removes what was kept; does nothing when nothing was. */
  confirmMigration(instance: Instance, options?: WorkOptions): Promise<void>;
  /** On the destination: removes the disks that have come for a guest that is not made; does nothing when there are none. */
  dropDisks(instance: Instance): Promise<void>;
  /**
   * On the source: makes the guest again of what was kept; or of the guest, when it was still here because its move was
   * cut off. When it rejects the guest is here, shut down.
   */
  finishRevertMigration(instance: Instance, options: RestartOptions): Promise<void>;
}
