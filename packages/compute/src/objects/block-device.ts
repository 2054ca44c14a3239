import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** One disk of an instance. */
export interface BlockDeviceMappingFields {
  readonly id: number;
  readonly uuid: string;
  readonly instance_uuid: string;
  readonly source_type: string;
  readonly destination_type: string;
  readonly device_name: string | null;
  readonly boot_index: number | null;
  readonly volume_id: string | null;
  readonly volume_size: number | null;
  readonly image_id: string | null;
  readonly attachment_id: string | null;
  readonly delete_on_termination: boolean;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
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
