import { z } from 'zod';
import { isHidden } from '../cells/cell-access.js';
import { allRecords } from './all-cells.js';
import type { ApiRoutes } from './api-routes.js';
import type { HttpParts } from './app.js';
import { notFound } from './http-error.js';
import { imageId } from './server-schemas.js';

const imageView = z.strictObject({ id: z.string(), name: z.string(), status: z.literal('active') });
/** Answer for one. */
export const IMAGE_ANSWER: z.ZodType = imageView;
/** Answer of the list. */
export const IMAGES_ANSWER: z.ZodType = z.strictObject({ images: z.array(imageView) });

/**
 * `images`, in the form of the image service, which clients look for at the same address when they are given only one. There
 * is no such service here: an image is an id that is written down, and it is called by it.
 */
export function registerImages(routes: ApiRoutes, parts: HttpParts): void {
  routes.add({
    method: 'GET',
    path: '/images',
    summary: 'Lists the images that servers were made of',
    policy: 'get_images',
    status: 200,
    answer: IMAGES_ANSWER,
    errors: [],
    handle: async () => {
      const { instances } = await allRecords(parts);
      const all = (await instances.find({})).filter((one) => !isHidden(one));
      const ids = new Set(all.map((one) => one.find('image_ref') ?? '').filter((id) => id !== ''));
      return { images: [...ids].sort().map(imageOf) };
    },
  });
  routes.add({
    method: 'GET',
    path: '/images/{image_id}',
    summary: 'Shows an image: every id is that of one',
    policy: 'get_image',
    status: 200,
    answer: IMAGE_ANSWER,
    errors: [404],
    handle: async ({ param }) => {
      const id = param('image_id');
      if (!imageId.safeParse(id).success) throw notFound('No image can have this id');
      return imageOf(id);
    },
  });
}

function imageOf(id: string): z.infer<typeof imageView> {
  return { id, name: id, status: 'active' };
}
