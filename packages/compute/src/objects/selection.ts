import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';
import type { SchedulerLimits } from './request-spec.js';

/** A host that the scheduler has chosen, as it travels. */
export interface SelectionFields {
  /** Uuid of the host's service record. */
  readonly compute_node_uuid: string;
  /** The host: the server of its topics. */
  readonly service_host: string;
  /** Its hypervisor. */
  readonly nodename: string;
  /** The cell that the host is in. */
  readonly cell_uuid: string;
  /** What the host has to keep to; null: nothing. */
  readonly limits: SchedulerLimits | null;
  /** What the instance takes there: JSON, as Placement has it; null: nothing. */
  readonly allocation_request: string | null;
  /** Version of Placement's interface in which that is written; null: there is none. */
  readonly allocation_request_version: string | null;
  /** Zone of the host; null: none. */
  readonly availability_zone: string | null;
}

/** Nova's object Selection. */
export type SelectionObject = NovaObject<SelectionFields>;
/** How to make and read Nova's object Selection. */
export const SelectionObject: ObjectDefinition<SelectionFields> = defineObject<SelectionFields>(
  'Selection',
  '1.1',
);
