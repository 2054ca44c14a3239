import { MemoryBroker, type MemoryLimits } from './broker.js';
import type { MemoryDriver } from './driver.js';

/** A broker of this process and those that are connected to it, for as long as there is one. */
export interface SharedBroker {
  readonly broker: MemoryBroker;
  readonly drivers: Set<MemoryDriver>;
  /** Set by the fault hook: nobody gets through to the broker. */
  cut: boolean;
}

/** By the URL of the transports that meet. */
const brokers = new Map<string, SharedBroker>();

/** The broker of that URL; made when nobody has it yet. */
export function acquireBroker(key: string, limits: MemoryLimits, driver: MemoryDriver): SharedBroker {
  const shared = brokers.get(key) ?? { broker: new MemoryBroker(limits), drivers: new Set(), cut: false };
  brokers.set(key, shared);
  shared.drivers.add(driver);
  return shared;
}

/** Gives a broker back; with its last user its queues are gone. */
export function releaseBroker(key: string, driver: MemoryDriver): void {
  const shared = brokers.get(key);
  if (!shared?.drivers.delete(driver) || shared.drivers.size > 0) return;
  brokers.delete(key);
}

/** The broker of that URL, if anybody has it. */
export function findBroker(key: string): SharedBroker | undefined {
  return brokers.get(key);
}
