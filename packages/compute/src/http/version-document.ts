import type { FastifyInstance, FastifyRequest } from 'fastify';
import { NEWEST_MINOR } from './microversion.js';

/** What clients look for first: which versions there are, and where. Open to everybody, as upstream's. */
export function registerVersions(app: FastifyInstance): void {
  const config = { isPublic: true };
  app.get('/', { config }, (request) => ({ versions: [summaryOf(request)] }));
  app.get('/v2.1', { config }, (request) => ({
    version: {
      ...summaryOf(request),
      'media-types': [
        { base: 'application/json', type: 'application/vnd.openstack.compute+json;version=2.1' },
      ],
    },
  }));
}

function summaryOf({ protocol, host }: FastifyRequest): object {
  return {
    id: 'v2.1',
    status: 'CURRENT',
    version: `2.${NEWEST_MINOR}`,
    min_version: '2.1',
    updated: '2013-07-23T11:33:21Z',
    links: [{ rel: 'self', href: `${protocol}://${host}/v2.1/` }],
  };
}
