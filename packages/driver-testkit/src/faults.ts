import type { MaybePromise } from '@ebbgate/core';

/**
 * What the author of a driver can do to its broker. Each method returns, or resolves, when the fault is in place; whether
 * the driver has noticed is its own affair. The kit undoes
 * at the end of a test what the test has done: `restore` and `resume` must be harmless where there is nothing to undo.
 */
export interface BrokerFaults {
  /** Ends every connection to the broker, and lets none come up until `restore`. */
  cut(): MaybePromise<void>;
  /** Connections can be made again. */
  restore(): MaybePromise<void>;
  /** Connections stay, but the broker answers nothing, confirms nothing, and delivers nothing until `resume`. */
  stall?(): MaybePromise<void>;
  /** Takes a stall back. */
  resume?(): MaybePromise<void>;
  /** The broker ends every subscription by itself, and connections stay. */
  cancelConsumers?(): MaybePromise<void>;
}
