import { BlockDeviceMapping, BlockDeviceMappingList } from './block-device.js';
import type { ObjectDefinition } from './definition.js';
import { Destination } from './destination.js';
import { InstanceExternalEvent } from './external-event.js';
import { Flavor } from './flavor.js';
import { ImageMeta, ImageMetaProps } from './image-meta.js';
import { Instance } from './instance.js';
import { InstanceFault } from './instance-fault.js';
import { InstanceGroup } from './instance-group.js';
import { LibvirtLiveMigrateData } from './migrate-data.js';
import { Migration } from './migration.js';
import { MigrationContext } from './migration-context.js';
import { NetworkRequest, NetworkRequestList } from './network-request.js';
import { RequestSpec, SchedulerLimits } from './request-spec.js';
import { SelectionObject } from './selection.js';
import { ShareMapping } from './share-mapping.js';

/** What decoding needs to know of a kind of object. */
export type KnownObject = Pick<ObjectDefinition<object>, 'name' | 'version' | 'dates'>;

const DEFINITIONS: readonly KnownObject[] = [
  Instance,
  Migration,
  Flavor,
  RequestSpec,
  SchedulerLimits,
  ImageMeta,
  ImageMetaProps,
  NetworkRequest,
  NetworkRequestList,
  BlockDeviceMapping,
  BlockDeviceMappingList,
  LibvirtLiveMigrateData,
  InstanceExternalEvent,
  InstanceFault,
  InstanceGroup,
  Destination,
  SelectionObject,
  MigrationContext,
  ShareMapping,
];

/** The kinds of objects that we know, by their name on the wire. Others are kept as they come. */
export const objectRegistry: ReadonlyMap<string, KnownObject> = new Map(
  DEFINITIONS.map((definition) => [definition.name, definition]),
);
