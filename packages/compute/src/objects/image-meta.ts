import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What the image service says of an image. */
export interface ImageMetaFields {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly container_format: string;
  readonly disk_format: string;
  readonly properties: ImageMetaProps;
  readonly created_at: Date | null;
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
