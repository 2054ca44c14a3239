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

export type ImageMeta = NovaObject<ImageMetaFields>;
export const ImageMeta: ObjectDefinition<ImageMetaFields> = defineObject<ImageMetaFields>(
  'ImageMeta',
  '1.8',
  ['created_at', 'updated_at'],
);

export type ImageMetaProps = NovaObject<Readonly<Record<string, unknown>>>;
export const ImageMetaProps: ObjectDefinition<Readonly<Record<string, unknown>>> = defineObject(
  'ImageMetaProps',
  '1.34',
);
