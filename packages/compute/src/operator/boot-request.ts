import { randomUUID } from 'node:crypto';
import type { BootRequest } from '../api/servers.js';
import { Destination } from '../objects/destination.js';
import type { Flavor } from '../objects/flavor.js';
import { ImageMeta, ImageMetaProps } from '../objects/image-meta.js';
import { Instance } from '../objects/instance.js';
import { RequestSpec } from '../objects/request-spec.js';
import { OPERATOR } from './work.js';

/** What an operator says of a new instance. */
export interface NewInstance {
  readonly name: string;
  readonly flavor: Flavor;
  /** Id of the image. */
  readonly image: string;
  /** Only there, if it passes the filters; null: the scheduler chooses. */
  readonly host: string | null;
  readonly zone: string | null;
  readonly hints: Readonly<Record<string, readonly string[]>>;
}

/** That as Nova's API would send it. */
export function bootRequest(wanted: NewInstance): BootRequest {
  const { name, flavor, zone } = wanted;
  const uuid = randomUUID();
  const owner = { user_id: OPERATOR.userId, project_id: OPERATOR.projectId };
  const image = { id: wanted.image, name: wanted.image, status: 'active', disk_format: 'qcow2' };
  const instance = Instance.create({
    uuid,
    ...owner,
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
  });
  const requestSpec = RequestSpec.create({
    instance_uuid: uuid,
    ...owner,
    flavor,
    image: ImageMeta.create({ ...image, container_format: 'bare', properties: ImageMetaProps.create({}) }),
    num_instances: 1,
    availability_zone: zone,
    force_hosts: null,
    ignore_hosts: null,
    requested_destination:
      wanted.host === null ? null : Destination.create({ host: wanted.host, node: null }),
    instance_group: null,
    scheduler_hints: wanted.hints,
    is_bfv: false,
    requested_networks: null,
  });
  return {
    instance,
    requestSpec,
    image: { ...image, container_format: 'bare', properties: {} },
    adminPassword: null,
    requestedNetworks: null,
    blockDeviceMapping: null,
  };
}
