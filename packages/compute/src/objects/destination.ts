import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** Where a user wishes an instance to go. */
export interface DestinationFields {
  /** Only this host, if it passes the filters. */
  readonly host: string | null;
  /** Only this hypervisor of it. */
  readonly node: string | null;
}

/** Nova's object Destination. */
export type Destination = NovaObject<DestinationFields>;
/** How to make and read Nova's object Destination. */
export const Destination: ObjectDefinition<DestinationFields> = defineObject<DestinationFields>(
  'Destination',
  '1.4',
);
