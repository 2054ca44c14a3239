import { z } from 'zod';
import { DRAIN_REASON, drainHost } from '../api/drain-host.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { plainText } from './read-input.js';
import { ServiceDirectory } from './service-directory.js';
import { UUID_MINOR } from './service-view.js';
import { checkServiceUuid } from './services-routes.js';

/** What is said of a drain. */
interface DrainBody {
  readonly reason?: string | undefined;
}

const BODY = z.strictObject({ reason: plainText.min(1).optional() });

/** Ours alone: a host finishes what it has begun, and ends, as by SIGTERM to its process. */
export function registerDrain(routes: ApiRoutes, parts: HttpParts): void {
  const directory = new ServiceDirectory(parts, parts.cells);
  routes.add<DrainBody>({
    method: 'POST',
    path: '/os-services/{service_id}/drain',
    summary: 'Has a compute host drain: it finishes what it has begun, and its process ends',
    policy: 'os_compute_api:os-services:update',
    since: UUID_MINOR,
    ebbgate: 1,
    body: [{ since: UUID_MINOR, schema: BODY }],
    check: checkServiceUuid,
    status: 202,
    errors: [404, 409],
    handle: (input) => drain(parts, directory, input),
  });
}

/** @throws HttpError 404, and 400 for what is no host; as {@link drainHost} does */
async function drain(
  { liveness, logger }: HttpParts,
  directory: ServiceDirectory,
  { param, body, caller, context }: RouteInput<DrainBody, undefined>,
): Promise<void> {
  const { cell, service } = await directory.compute(param('service_id'));
  const { reason = DRAIN_REASON } = body;
  await drainHost({ liveness, computeApi: cell.computeApi }, context, service, reason);
  logger.info({ host: service.host, reason, user: caller.userId }, 'A host was told to drain');
}
