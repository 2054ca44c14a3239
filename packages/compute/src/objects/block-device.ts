import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** One disk of an instance. */
export interface BlockDeviceMappingFields {
  /** Number of the record. */
  readonly id: number;
  /** The key of the record. */
  readonly uuid: string;
  /** The instance that has the disk. */
  readonly instance_uuid: string;
  /** What it is filled from: `blank`, `image`, `snapshot` or `volume`. */
  readonly source_type: string;
  /** What it is kept on: `local`, by the hypervisor, or `volume`, by the volume service. */
  readonly destination_type: string;
  /** Its name in the guest, `/dev/vda`; null until it has one. */
  readonly device_name: string | null;
  /** By which the guest reaches it: `virtio`, …; null: as the hypervisor likes. */
  readonly disk_bus: string | null;
  /** What it is to the guest: `disk`, `cdrom`, …; null: a disk. */
  readonly device_type: string | null;
  /** Name by which the guest can tell it from others; null: none. */
  readonly tag: string | null;
  /** Place in the order of booting, from 0; null or negative: nothing boots from it. */
  readonly boot_index: number | null;
  /** The volume that it is; null when it is local, or not made yet. */
  readonly volume_id: string | null;
  /** GiB; null: as large as what it is filled from. */
  readonly volume_size: number | null;
  /** The image that it is filled from; null when it is filled from something else. */
  readonly image_id: string | null;
  /** The volume service's id for the connection of volume and host; null when there is none. */
  readonly attachment_id: string | null;
  /** The volume goes when the instance goes. */
  readonly delete_on_termination: boolean;
  /** When the record was made; null until it is stored. */
  readonly created_at: Date | null;
  /** When the record was last changed; null until it is. */
  readonly updated_at: Date | null;
  /** When the record was marked as deleted; null while it is not. */
  readonly deleted_at: Date | null;
}

/** Nova's object BlockDeviceMapping. */
export type BlockDeviceMapping = NovaObject<BlockDeviceMappingFields>;
/** How to make and read Nova's object BlockDeviceMapping. */
export const BlockDeviceMapping: ObjectDefinition<BlockDeviceMappingFields> =
  defineObject<BlockDeviceMappingFields>('BlockDeviceMapping', '1.21', [
    'created_at',
    'updated_at',
    'deleted_at',
  ]);

/** Fields of Nova's object BlockDeviceMappingList. */
export interface BlockDeviceMappingListFields {
  /** The entries. */
  readonly objects: readonly BlockDeviceMapping[];
}

/** Nova's object BlockDeviceMappingList. */
export type BlockDeviceMappingList = NovaObject<BlockDeviceMappingListFields>;
/** How to make and read Nova's object BlockDeviceMappingList. */
export const BlockDeviceMappingList: ObjectDefinition<BlockDeviceMappingListFields> =
  defineObject<BlockDeviceMappingListFields>('BlockDeviceMappingList', '1.18');
