import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** A server group: instances that are to be together, or apart. */
export interface InstanceGroupFields {
  /** Number of the record. */
  readonly id: number;
  /** The key of the record, which the hint `group` names. */
  readonly uuid: string;
  /** What its user calls it. */
  readonly name: string;
  /** Who made it. */
  readonly user_id: string;
  /** The project that it belongs to. */
  readonly project_id: string;
  /** How its members lie to each other; the `soft-` ones are wishes. */
  readonly policy: 'affinity' | 'anti-affinity' | 'soft-affinity' | 'soft-anti-affinity' | null;
  /** Uuids of the instances in it. */
  readonly members: readonly string[];
  /** Hosts on which members were when it was sent. */
  readonly hosts: readonly string[] | null;
}

/** Nova's object InstanceGroup. */
export type InstanceGroup = NovaObject<InstanceGroupFields>;
/** How to make and read Nova's object InstanceGroup. */
export const InstanceGroup: ObjectDefinition<InstanceGroupFields> = defineObject<InstanceGroupFields>(
  'InstanceGroup',
  '1.11',
);
