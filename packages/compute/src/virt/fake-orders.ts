import type { Instance } from '../objects/instance.js';
import type { VirtStep } from './virt-steps.js';

/** The guest that a step is about. */
export interface GuestNames {
  /** Of its instance. */
  readonly uuid: string;
  /** What its user calls it; undefined where the hypervisor was given the uuid alone. */
  readonly name?: string | undefined;
}

/** How what is done to one guest is to go; what is left out goes as it would without an order. */
export interface FakeOrder {
  /** MiB of memory that a live migration has to copy; default: all that the instance has. */
  readonly copyMib?: number | undefined;
  /** MiB of disks that it has to copy before; default 0, as the hosts share them. */
  readonly diskMib?: number | undefined;
  /** MiB that it copies in a second; default: so much that all memory of the instance takes `migrationMs`. */
  readonly bandwidthMibS?: number | undefined;
  /**
   * MiB of memory that the guest writes in a second, which have to be copied again; default 0. At `bandwidthMibS` and
   * above the copying never ends by itself.
   */
  readonly dirtyMibS?: number | undefined;
  /** How long steps take, in milliseconds. */
  readonly durationsMs?: ReadonlyMap<VirtStep, number> | undefined;
  /** Steps that fail, each time. */
  readonly failAt?: ReadonlySet<VirtStep> | undefined;
  /** Steps that wait for as long as this is ordered. */
  readonly stallAt?: ReadonlySet<VirtStep> | undefined;
}

/** Orders for guests, looked up again at each step. */
export interface FakeOrders {
  /** The order for one guest; an empty one when there is none. */
  of(guest: GuestNames): FakeOrder;
}

/** Everything goes as it does by default. */
export const NO_ORDERS: FakeOrders = { of: () => ({}) };

/** The guest of an instance. */
export function guestOf(instance: Instance): GuestNames {
  return { uuid: instance.get('uuid'), name: instance.find('display_name') };
}
