import type { TransportUrl } from '../transport-url.js';
import { findBroker, type SharedBroker } from './registry.js';

/** What a test can do to the broker of a memory URL. Every transport with that URL is struck. */
export interface MemoryFaults {
  /** Cuts all connections, and lets none come up. What was handed out and not settled goes back to its queue. */
  cut(): void;
  /** Lets them connect again. */
  restore(): void;
  /** The broker neither confirms nor delivers. */
  stall(): void;
  /** Takes a stall back: what was held up goes on, in order. */
  resume(): void;
  /** The broker cancels all subscriptions, on connections that stay; listeners come back by themselves. */
  cancelConsumers(): void;
}

/**
 * The fault hook of the in-memory driver (`url` as given to `createTransport`, parsed). It strikes the broker that is
 * there: without an open transport there is none, and nothing happens.
 */
export function memoryFaults(url: TransportUrl): MemoryFaults {
  const strike = (how: (shared: SharedBroker) => void) => (): void => {
    const shared = findBroker(url.format());
    if (shared) how(shared);
  };
  return {
    cut: strike((shared) => {
      shared.cut = true;
      for (const { connection } of shared.drivers) connection.cut();
    }),
    restore: strike((shared) => {
      shared.cut = false;
      for (const { connection } of shared.drivers) connection.restore();
    }),
    stall: strike(({ broker, drivers }) => {
      broker.stall();
      for (const driver of drivers) driver.brokerChanged();
    }),
    resume: strike(({ broker, drivers }) => {
      broker.resume();
      for (const driver of drivers) driver.brokerChanged();
    }),
    cancelConsumers: strike(({ drivers }) => {
      for (const { listeners } of drivers) for (const listener of listeners) listener.cancelledByBroker();
    }),
  };
}
