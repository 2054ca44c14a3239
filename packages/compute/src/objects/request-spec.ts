import { defineObject, type ObjectDefinition } from './definition.js';
import type { Destination } from './destination.js';
import type { Flavor } from './flavor.js';
import type { ImageMeta } from './image-meta.js';
import type { InstanceGroup } from './instance-group.js';
import type { NetworkRequestList } from './network-request.js';
import type { NovaObject } from './nova-object.js';

/** What was asked for when an instance was ordered. */
export interface RequestSpecFields {
  /** The instance that was ordered. */
  readonly instance_uuid: string;
  /** The project that ordered it. */
  readonly project_id: string;
  /** Who ordered it; null: not known. */
  readonly user_id: string | null;
  /** The size that was asked for. */
  readonly flavor: Flavor;
  /** The image that it is made of; can be null for one that boots from a volume. */
  readonly image: ImageMeta | null;
  /** How many were ordered by the same request. */
  readonly num_instances: number;
  /** Only hosts of this zone; null: of any. */
  readonly availability_zone: string | null;
  /** Only these hosts; null or empty: any. */
  readonly force_hosts: readonly string[] | null;
  /** None of these hosts; null: all may be chosen. */
  readonly ignore_hosts: readonly string[] | null;
  /** Only there, if the filters agree; null: anywhere. */
  readonly requested_destination: Destination | null;
  /** The server group that it is a member of; null: none. */
  readonly instance_group: InstanceGroup | null;
  /** What the user wishes of the choice of host: `group`, `different_host`, …, by name. */
  readonly scheduler_hints: Readonly<Record<string, unknown>>;
  /** It boots from a volume, so its root disk takes no room on the host. */
  readonly is_bfv: boolean;
  /** The interfaces that were asked for; null: the request names none. */
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
