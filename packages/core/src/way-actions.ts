import type { Delivery } from './driver.js';

/** What the way of a delivery asks of its runner. */
export interface WayActions {
  /** Its handler begins. */
  onRun(delivery: Delivery): void;
  /** Its channel was gone when it was to be accepted: the broker gives it to somebody. */
  onGone(delivery: Delivery): void;
  /** Nobody handles it, and it was accepted. Ends the slot. */
  drop(delivery: Delivery, why: 'expired' | 'duplicate'): void;
  /** It goes back to the broker. */
  release(delivery: Delivery): void;
  /** The slot is free. */
  readonly endSlot: () => void;
  /** The handler has failed by a fault of its own. Ends the slot. */
  readonly failed: (error: unknown) => void;
}
