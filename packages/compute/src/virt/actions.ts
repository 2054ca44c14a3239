import type { Instance } from '../objects/instance.js';
import type { WorkOptions } from './work-options.js';

/** How a guest is shut down. */
export interface PowerOffOptions extends WorkOptions {
  /** The guest is asked first, and given time; otherwise it is as if its plug were pulled. */
  readonly clean: boolean;
}

/** How a snapshot is taken. */
export interface SnapshotOptions extends WorkOptions {
  /** Called when the disk is copied and the upload of the copy begins. */
  readonly onUpload?: () => Promise<unknown>;
}

/** Where a console of a guest listens. */
export interface ConsoleAddress {
  /** Name or address. */
  readonly host: string;
  /** As text, which is how consoles are compared. */
  readonly port: string;
}

/** What a hypervisor does to a guest that stays where it is. Rejects as VirtDriver does. */
export interface VirtActions {
  /** Starts a guest that is shut down; does nothing when it runs. */
  powerOn(instance: Instance, options?: WorkOptions): Promise<void>;
  /** Shuts a guest down and keeps it; does nothing when it is shut down. */
  powerOff(instance: Instance, options: PowerOffOptions): Promise<void>;
  /** `soft`: the guest does it; `hard`: it is ended and started anew. When it rejects the guest runs or does not. */
  reboot(instance: Instance, how: 'soft' | 'hard', options?: WorkOptions): Promise<void>;
  /** Copies the disk of a guest into an image. When it rejects there is no image. */
  snapshot(instance: Instance, imageId: string, options?: SnapshotOptions): Promise<void>;
  /** What the guest has written to its console, of which the last lines; null: all. */
  consoleOutput(uuid: string, lines: number | null): Promise<string>;
  /** Where its console of that type (`novnc`, `spice-html5`, `serial`) listens. */
  console(uuid: string, type: string): Promise<ConsoleAddress>;
  /** On the source of a live migration: ends its copying, at the cost of the guest's standing still. */
  forceComplete(uuid: string): Promise<void>;
  /** Leaves a mark among the disks of an instance, for another host to look for; undefined when they are not here. */
  markDisks(uuid: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Does this host see a mark that another one has left: do both have the same storage? */
  seesMark(mark: Readonly<Record<string, unknown>>): Promise<boolean>;
  /** Takes a mark back that was left here. */
  unmarkDisks(mark: Readonly<Record<string, unknown>>): Promise<void>;
}
