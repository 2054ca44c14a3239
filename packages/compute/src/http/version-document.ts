import type { FastifyInstance, FastifyRequest } from 'fastify';
import { NEWEST_MINOR } from './microversion.js';
import type { OperatorsPage } from './page/page-routes.js';

/**
 * What clients look for first: which versions there are, and where. Open to everybody, as upstream's. Browsers get the page
 * for operators instead.
 */
export function registerVersions(app: FastifyInstance, page: OperatorsPage): void {
  const config = { isPublic: true };
  app.get('/', { config }, (request, reply) => {
    reply.header('Vary', 'Accept');
    return wantsPage(request) ? page.send(request, reply) : { versions: [summaryOf(request)] };
  });
  app.get('/v2.1', { config }, (request) => ({
    version: {
      ...summaryOf(request),
      'media-types': [
        { base: 'application/json', type: 'application/vnd.openstack.compute+json;version=2.1' },
      ],
    },
  }));
}

/** Clients of the API accept anything, or JSON. */
function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.split(',').some((one) => one.trim().split(';')[0] === 'text/html') ?? false;
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
