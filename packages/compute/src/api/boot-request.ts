import { randomUUID } from 'node:crypto';
import { Destination } from '../objects/destination.js';
import type { Flavor } from '../objects/flavor.js';
import { ImageMeta, ImageMetaProps } from '../objects/image-meta.js';
import { Instance, type InstanceFields } from '../objects/instance.js';
import type { NetworkRequestList } from '../objects/network-request.js';
import { RequestSpec } from '../objects/request-spec.js';
import type { BootRequest } from './servers.js';

/** What is said of a new instance. */
export interface NewInstance {
  readonly name: string;
  readonly owner: { readonly userId: string; readonly projectId: string };
  readonly flavor: Flavor;
  /** Id of the image. */
  readonly image: string;
  /** Only there, if it passes the filters; null: the scheduler chooses. */
  readonly host: string | null;
  /** There, whether it is up or not; default null: none is forced. */
  readonly forcedHost?: string | null;
  readonly zone: string | null;
  readonly hints: Readonly<Record<string, readonly string[]>>;
  /** More of its record. */
  readonly more?: Partial<Pick<InstanceFields, 'hostname' | 'display_description' | 'metadata' | 'key_name'>>;
  /** For the guest; default null: it is made. */
  readonly adminPassword?: string | null;
  /** Default null: those of the project. */
  readonly networks?: NetworkRequestList | null;
}

/** That as Nova's API would send it. */
export function bootRequest(wanted: NewInstance): BootRequest {
  const { name, owner, flavor, zone, host, forcedHost = null, networks = null } = wanted;
  const uuid = randomUUID();
  const ids = { user_id: owner.userId, project_id: owner.projectId };
  const image = { id: wanted.image, name: wanted.image, status: 'active', disk_format: 'qcow2' };
  const instance = Instance.create({
    uuid,
    ...ids,
    display_name: name,
    hostname: name,
    image_ref: wanted.image,
    key_name: null,
    availability_zone: zone,
    progress: 0,
    memory_mb: flavor.get('memory_mb'),
    vcpus: flavor.get('vcpus'),
    root_gb: flavor.get('root_gb'),
    ephemeral_gb: flavor.get('ephemeral_gb'),
    instance_type_id: flavor.get('id'),
    flavor,
    old_flavor: null,
    new_flavor: null,
    metadata: {},
    system_metadata: {},
    terminated_at: null,
    deleted: false,
    ...wanted.more,
  });
  const requestSpec = RequestSpec.create({
    instance_uuid: uuid,
    ...ids,
    flavor,
    image: ImageMeta.create({ ...image, container_format: 'bare', properties: ImageMetaProps.create({}) }),
    num_instances: 1,
    availability_zone: zone,
    force_hosts: forcedHost === null ? null : [forcedHost],
    ignore_hosts: null,
    requested_destination: host === null ? null : Destination.create({ host, node: null }),
    instance_group: null,
    scheduler_hints: wanted.hints,
    is_bfv: false,
    requested_networks: networks,
  });
  return {
    instance,
    requestSpec,
    image: { ...image, container_format: 'bare', properties: {} },
    adminPassword: wanted.adminPassword ?? null,
    requestedNetworks: networks,
    blockDeviceMapping: null,
  };
}
