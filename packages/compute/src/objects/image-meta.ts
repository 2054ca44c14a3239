import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What the image service says of an image. */
export interface ImageMetaFields {
  /** Its uuid in the image service. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  /** `active` when instances can be made of it; `queued`, `saving`, `deleted`, … when not. */
  readonly status: string;
  /** What is wrapped around the disk: `bare` for nothing, `ovf`, … */
  readonly container_format: string;
  /** Format of the disk: `qcow2`, `raw`, … */
  readonly disk_format: string;
  /** What the image asks of hardware and hypervisor: `hw_disk_bus`, … */
  readonly properties: ImageMetaProps;
  /** When the image service made it; null: not told. */
  readonly created_at: Date | null;
  /** When the image service last changed it; null: never, or not told. */
  readonly updated_at: Date | null;
}

/** Nova's object ImageMeta. */
export type ImageMeta = NovaObject<ImageMetaFields>;
/** How to make and read Nova's object ImageMeta. */
export const ImageMeta: ObjectDefinition<ImageMetaFields> = defineObject<ImageMetaFields>(
  'ImageMeta',
  '1.8',
  ['created_at', 'updated_at'],
);

/** Nova's object ImageMetaProps, read as it comes. */
export type ImageMetaProps = NovaObject<Readonly<Record<string, unknown>>>;
/** How to make and read Nova's object ImageMetaProps, read as it comes. */
export const ImageMetaProps: ObjectDefinition<Readonly<Record<string, unknown>>> = defineObject(
  'ImageMetaProps',
  '1.34',
);
