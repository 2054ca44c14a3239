import type { DriverFeatures } from '@ebbgate/core';
import type { Lab } from './lab.js';

type Statement<Key extends keyof DriverFeatures> = DriverFeatures[Key] extends boolean ? Key : never;

/** The features that are stated with yes or no. */
export type StatedFeature = { [Key in keyof DriverFeatures]: Statement<Key> }[keyof DriverFeatures];

/**
 * What a test cannot do without: a feature that the driver states, a limit on the size of messages, or a fault that the
 * author of the driver knows how to bring about.
 */
export type Need = StatedFeature | 'messageLimit' | 'faults' | 'stall' | 'cancelConsumers';

/** One test: fresh names, its own transports, one reason to fail. */
export interface Case {
  /** Ends with the ids of the requirements it proves. */
  readonly title: string;
  readonly needs: readonly Need[];
  run(lab: Lab): Promise<void>;
}

/** Tests on one subject. */
export interface Group {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** A test for every driver. */
export function test(title: string, run: (lab: Lab) => Promise<void>): Case {
  return { title, needs: [], run };
}

/** A test for drivers that state, or have, what it needs. */
export function testWith(needs: readonly Need[], title: string, run: (lab: Lab) => Promise<void>): Case {
  return { title, needs, run };
}
