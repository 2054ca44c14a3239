import { randomUUID } from 'node:crypto';
import { Instance } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { IMAGE_ANSWER, IMAGES_ANSWER } from '#compute/http/image-routes.js';
import { refused, shown } from './http-asked.js';
import { withHttp } from './http-bed.js';

describe('compute: images over HTTP, as an image service shows them (decision 0012)', () => {
  it('knows every id as that of an image, and nothing that can be none', () =>
    withHttp(async (bed) => {
      for (const version of [undefined, '2.1', 'latest']) {
        const image = await shown(bed, '/images/cirros-0.6', IMAGE_ANSWER, version);
        expect(image).to.deep.equal({ id: 'cirros-0.6', name: 'cirros-0.6', status: 'active' });
      }
      for (const id of ['a%20b', '%2e%2e%2f', 'x%00', 'ü'].map(encodeURI))
        expect(await refused(bed, 'GET', `/images/${id}`), id).to.equal(
          '404 itemNotFound: No image can have this id',
        );
    }));

  it('lists those that servers were made of, each once, and none of copies and deleted ones', () =>
    withHttp(async (bed) => {
      const made = (image_ref: string, more: object = {}): Promise<unknown> =>
        bed.records.instances.create(
          Instance.create({ uuid: randomUUID(), image_ref, deleted: false, ...more }),
        );
      await made('b');
      await made('a');
      await made('b');
      await made('');
      await made('c', { hidden: true });
      await made('d', { deleted: true });
      expect(await shown(bed, '/images?name=x', IMAGES_ANSWER)).to.deep.equal({
        images: ['a', 'b'].map((id) => ({ id, name: id, status: 'active' })),
      });
    }));
});
