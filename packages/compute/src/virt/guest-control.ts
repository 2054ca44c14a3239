import type { Instance } from '../objects/instance.js';
import type { WorkOptions } from './work-options.js';

/** How a guest is started from another disk to be mended. */
export interface RescueOptions extends WorkOptions {
  /** The image of that disk; null: the one that the guest was made of. */
  readonly imageId: string | null;
  /** The guest is asked to end first. */
  readonly clean: boolean;
}

/**
 * What a hypervisor does, besides its other actions, to a guest that stays where it is. Rejects as VirtDriver does. What
 * has been done already is not done again.
 */
export interface GuestControl {
  /** The guest stands still, and keeps its memory. */
  pause(instance: Instance, options?: WorkOptions): Promise<void>;
  /** It goes on. */
  unpause(instance: Instance, options?: WorkOptions): Promise<void>;
  /** The memory goes to disk, and the guest ends. */
  suspend(instance: Instance, options?: WorkOptions): Promise<void>;
  /** It goes on with that memory. */
  resume(instance: Instance, options?: WorkOptions): Promise<void>;
  /** Started from a disk of its own, with its usual one beside it. When it rejects the guest is shut down, or as it was. */
  rescue(instance: Instance, options: RescueOptions): Promise<void>;
  /** Started from its usual disk again. */
  unrescue(instance: Instance, options?: WorkOptions): Promise<void>;
  /** The administrator of the guest has another password from now on. The password is kept nowhere. */
  setAdminPassword(instance: Instance, password: string): Promise<void>;
  /** The guest gets an interrupt at which its system dumps its memory. */
  injectNmi(instance: Instance): Promise<void>;
  /** The file systems of the guest are written out, and stand still. */
  quiesce(instance: Instance): Promise<void>;
  /** They go on. */
  unquiesce(instance: Instance): Promise<void>;
  /** A volume becomes a disk of the guest, under this name. */
  attachVolume(instance: Instance, volumeId: string, deviceName: string): Promise<void>;
  /** The host gets access to a share, which the guest has from its next start on. */
  allowShare(instance: Instance, shareId: string): Promise<void>;
  /** It has no access any more. */
  denyShare(instance: Instance, shareId: string): Promise<void>;
}
