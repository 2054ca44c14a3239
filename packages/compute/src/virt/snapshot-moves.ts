import type { Instance } from '../objects/instance.js';
import type { RestartOptions } from './cold-moves.js';

/**
 * What a hypervisor does, besides its other methods, for instances whose disks reach another cell as an image
 * (`compute-rpc.md` 3.5). Rejects as VirtDriver does.
 */
export interface SnapshotMoves {
  /**
   * On the source: removes the guest and keeps its disks, apart from the guests, until the move is confirmed or reverted.
   * When it rejects the guest is here or only its disks are.
   */
  keepDisks(instance: Instance): Promise<void>;
  /**
   * On the destination: makes a guest of an image, in the size that the instance has now. When it rejects nothing is left.
   * @param imageId - null: it boots from a volume
   */
  spawnFromImage(instance: Instance, imageId: string | null, options: RestartOptions): Promise<void>;
  /** Removes an image that was made for a move; does nothing when there is none. */
  removeImage(imageId: string): Promise<void>;
}
