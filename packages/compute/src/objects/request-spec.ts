import { defineObject, type ObjectDefinition } from './definition.js';
import type { Flavor } from './flavor.js';
import type { ImageMeta } from './image-meta.js';
import type { NetworkRequestList } from './network-request.js';
import type { NovaObject } from './nova-object.js';

/** What was asked for when an instance was ordered. */
export interface RequestSpecFields {
  readonly instance_uuid: string;
  readonly project_id: string;
  readonly user_id: string | null;
  readonly flavor: Flavor;
  readonly image: ImageMeta | null;
  readonly num_instances: number;
  readonly availability_zone: string | null;
  /** Only these hosts; null or empty: any. */
  readonly force_hosts: readonly string[] | null;
  readonly ignore_hosts: readonly string[] | null;
  readonly scheduler_hints: Readonly<Record<string, unknown>>;
  readonly is_bfv: boolean;
  readonly requested_networks: NetworkRequestList | null;
}

/** Nova's object RequestSpec. */
export type RequestSpec = NovaObject<RequestSpecFields>;
/** How to make and read Nova's object RequestSpec. */
export const RequestSpec: ObjectDefinition<RequestSpecFields> = defineObject<RequestSpecFields>(
  'RequestSpec',
  '1.14',
);

/** Resources that the scheduler has reserved on a host. */
export type SchedulerLimits = NovaObject<Readonly<Record<string, unknown>>>;
/** How to make and read Nova's object SchedulerLimits, read as it comes. */
export const SchedulerLimits: ObjectDefinition<Readonly<Record<string, unknown>>> = defineObject(
  'SchedulerLimits',
  '1.0',
);
