import type { GuestState } from './driver.js';

/** What is on the machine of one host: its guests, and what was prepared for those that are to come. */
export interface GuestStore {
  /** All guests, by uuid. */
  guests(): ReadonlyMap<string, GuestState>;
  /** The state of one guest; undefined when it is not here. */
  state(uuid: string): GuestState | undefined;
  /** Makes a guest, or changes the state of one. */
  set(uuid: string, state: GuestState): void;
  /** Does nothing when it is not here. */
  remove(uuid: string): void;
  /** Guests that something was prepared for and that have not come. */
  expected(): readonly string[];
  /** Something was prepared for a guest that is to come; does nothing when it is expected already. */
  expect(uuid: string): void;
  /** Does nothing when it is not expected. */
  unexpect(uuid: string): void;
  /** Hands a guest over to another host in one step; false when it is not expected there, and then it stays. */
  move(uuid: string, dest: string): boolean;
  /** What was kept of guests that have left and may be taken back. */
  kept(): readonly string[];
  /** A guest becomes what is kept of it, in one step; does nothing when it is not here. */
  keep(uuid: string): void;
  /** What was kept becomes a guest again, in one step; does nothing when nothing was. */
  takeBack(uuid: string): void;
  /** Removes what was kept; does nothing when nothing was. */
  dropKept(uuid: string): void;
}

/** The images that were made of guests, wherever. */
export interface ImageStore {
  /** Is there such an image? */
  has(imageId: string): boolean;
  /** An image was uploaded. */
  add(imageId: string): void;
  /** Does nothing when there is none. */
  remove(imageId: string): void;
  /** The ids of all. */
  list(): readonly string[];
}

/** All machines on which fake hypervisors have guests, so that a guest that migrates really leaves one for another. */
export interface Hypervisors {
  /** What stands for the image service between them. */
  readonly images: ImageStore;
  /** The machine of a host; made when there is none. */
  storeOf(host: string): GuestStore;
  /** The hosts on which a guest is: one, if all is well. */
  locate(uuid: string): readonly string[];
  /** What is prepared on all hosts for guests that have not come. */
  expected(): readonly { readonly host: string; readonly uuid: string }[];
}
