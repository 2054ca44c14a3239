import type { DriverFeatures, MaybePromise, Transport, TransportOptions } from '@ebbgate/core';
import type { BrokerFaults } from './faults.js';

/** What a lab is made from. */
export interface LabParts {
  readonly features: DriverFeatures;
  readonly faults: BrokerFaults | undefined;
  /** The links to the broker fail at random meanwhile. */
  readonly unsteady: boolean;
  /** Longest time for all waits of one test together, and again for its end. */
  readonly waitMs: number;
  createTransport(options: TransportOptions): MaybePromise<Transport>;
}

/** How a test sends. */
export interface SendParts {
  readonly mandatory?: boolean;
  readonly retry?: number;
  readonly timeoutMs?: number;
  /** On an unsteady link what the broker did not take is sent again; false where a test is about the failure. */
  readonly patient?: boolean;
}
