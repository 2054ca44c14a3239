import { z } from 'zod';
import { linksView } from './links.js';

/** Answer to a create. */
export const CREATE_ANSWER: z.ZodType = z.strictObject({
  server: z.strictObject({
    id: z.guid(),
    links: linksView,
    'OS-DCF:diskConfig': z.string(),
    security_groups: z.array(z.strictObject({ name: z.string().optional() })),
    adminPass: z.string(),
  }),
});

const brief = { id: z.guid(), name: z.string(), links: linksView };
const bookmarked = z.strictObject({ id: z.string(), links: linksView });
/** A server, whole. */
const serverShown = z.strictObject({
  ...brief,
  status: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  metadata: z.record(z.string(), z.string()),
  hostId: z.string(),
  image: z.union([bookmarked, z.literal('')]),
  flavor: z.union([
    bookmarked,
    z.strictObject({
      vcpus: z.int(),
      ram: z.int(),
      disk: z.int(),
      ephemeral: z.int(),
      swap: z.int(),
      original_name: z.string(),
      extra_specs: z.record(z.string(), z.string()).optional(),
    }),
  ]),
  created: z.string(),
  updated: z.string(),
  addresses: z.strictObject({}),
  accessIPv4: z.string(),
  accessIPv6: z.string(),
  'OS-DCF:diskConfig': z.string(),
  progress: z.number().optional(),
  fault: z
    .strictObject({
      code: z.int(),
      created: z.string(),
      message: z.string(),
      details: z.string().optional(),
    })
    .optional(),
  'OS-EXT-AZ:availability_zone': z.string().optional(),
  config_drive: z.string().optional(),
  key_name: z.string().nullable().optional(),
  'OS-SRV-USG:launched_at': z.string().nullable().optional(),
  'OS-SRV-USG:terminated_at': z.string().nullable().optional(),
  'OS-EXT-STS:task_state': z.string().nullable().optional(),
  'OS-EXT-STS:vm_state': z.string().optional(),
  'OS-EXT-STS:power_state': z.int().optional(),
  'os-extended-volumes:volumes_attached': z
    .array(z.strictObject({ id: z.string(), delete_on_termination: z.boolean().optional() }))
    .optional(),
  'OS-EXT-SRV-ATTR:host': z.string().nullable().optional(),
  'OS-EXT-SRV-ATTR:hypervisor_hostname': z.string().nullable().optional(),
  'OS-EXT-SRV-ATTR:instance_name': z.string().optional(),
  'OS-EXT-SRV-ATTR:hostname': z.string().nullable().optional(),
  'OS-EXT-SRV-ATTR:kernel_id': z.string().optional(),
  'OS-EXT-SRV-ATTR:launch_index': z.int().optional(),
  'OS-EXT-SRV-ATTR:ramdisk_id': z.string().optional(),
  'OS-EXT-SRV-ATTR:reservation_id': z.string().nullable().optional(),
  'OS-EXT-SRV-ATTR:root_device_name': z.string().nullable().optional(),
  'OS-EXT-SRV-ATTR:user_data': z.string().nullable().optional(),
  locked: z.boolean().optional(),
  host_status: z.enum(['UP', 'DOWN', 'MAINTENANCE', 'UNKNOWN', '']).optional(),
  description: z.string().nullable().optional(),
  tags: z.array(z.string()).optional(),
  trusted_image_certificates: z.null().optional(),
  server_groups: z.array(z.string()).optional(),
  locked_reason: z.string().nullable().optional(),
  pinned_availability_zone: z.string().nullable().optional(),
  adminPass: z.string().optional(),
  user_data: z.string().nullable().optional(),
});

/** Answer for one. */
export const SERVER_ANSWER: z.ZodType = z.strictObject({ server: serverShown });
/** Answer of the list. */
export const SERVERS_ANSWER: z.ZodType = z.strictObject({
  servers: z.array(z.strictObject(brief)),
  servers_links: linksView.optional(),
});
/** Answer of the list in detail. */
export const SERVERS_DETAIL_ANSWER: z.ZodType = z.strictObject({
  servers: z.array(serverShown),
  servers_links: linksView.optional(),
});
