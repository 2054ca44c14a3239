import { z } from 'zod';
import type { ActionParts } from '../api/action-parts.js';
import { lookAtEvacuation } from '../api/evacuation-sight.js';
import { checkDown, type EvacuationMeans } from '../api/host-evacuation.js';
import { Rebuilds } from '../api/rebuilds.js';
import type { ServiceRecord } from '../db/repositories.js';
import { UnexpectedStateError } from '../errors.js';
import { partsIn } from './all-cells.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { EVACUATION_ANSWER, evacuationView } from './evacuation-view.js';
import { HostEvacuations } from './host-evacuations.js';
import { badRequest, notFound } from './http-error.js';
import { type ServiceCell, ServiceDirectory } from './service-directory.js';
import { hostName } from './service-schemas.js';
import { NOTE_EBBGATE } from './service-view.js';
import { checkServiceUuid } from './services-routes.js';

/** How a host is to be evacuated. */
interface EvacuateBody {
  readonly host?: string | undefined;
  readonly parallel?: number | undefined;
}

const BODY = z
  .strictObject({ host: hostName.optional(), parallel: z.int().min(1).max(100).optional() })
  .optional();
const PARALLEL = 5;
const PATH = '/os-services/{service_id}/evacuate';

/** Ours alone: everything on a host that has failed is made anew elsewhere, and how far that is. */
export function registerEvacuations(routes: ApiRoutes, parts: HttpParts): HostEvacuations {
  const evacuations = new EvacuationRoutes(parts);
  routes.add<EvacuateBody | undefined>({
    method: 'POST',
    path: PATH,
    summary:
      'Evacuates a host that is down: all its instances, a few at a time. Asked again, it goes on with what is left',
    policy: 'os_compute_api:os-evacuate',
    ebbgate: NOTE_EBBGATE,
    body: [{ since: 1, schema: BODY }],
    check: checkServiceUuid,
    status: 202,
    answer: EVACUATION_ANSWER,
    errors: [404],
    handle: (input) => evacuations.begin(input),
  });
  routes.add({
    method: 'GET',
    path: PATH,
    summary: 'Shows how far the evacuation of a host is',
    policy: 'os_compute_api:os-services:list',
    ebbgate: NOTE_EBBGATE,
    check: checkServiceUuid,
    status: 200,
    answer: EVACUATION_ANSWER,
    errors: [404],
    handle: (input) => evacuations.show(input),
  });
  return evacuations.driven;
}

type Found = { readonly cell: ServiceCell; readonly service: ServiceRecord };

class EvacuationRoutes {
  readonly driven: HostEvacuations;
  readonly #parts: HttpParts;
  readonly #directory: ServiceDirectory;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#directory = new ServiceDirectory(parts, parts.cells);
    this.driven = new HostEvacuations({ ...parts, lookMs: parts.evacuationLookMs });
  }

  async begin(input: RouteInput<EvacuateBody | undefined, undefined>): Promise<unknown> {
    const found = await this.#find(input);
    const { uuid, host } = found.service;
    const { host: target = null, parallel = PARALLEL } = input.body ?? {};
    const cloud = partsIn(this.#parts, found.cell);
    await checkWhere(cloud, host, target);
    const rebuilds = new Rebuilds(cloud);
    const means: EvacuationMeans = {
      records: cloud.records,
      liveness: cloud.liveness,
      evacuate: (instance, seenTask) => rebuilds.evacuate(input.context, instance, target, { seenTask }),
    };
    this.driven.begin({ uuid, host, parallel }, means);
    return this.#shown(found);
  }

  async show(input: RouteInput<undefined, undefined>): Promise<unknown> {
    return this.#shown(await this.#find(input));
  }

  async #shown({ cell: { records }, service: { uuid, host } }: Found): Promise<unknown> {
    const seen = await lookAtEvacuation({ records, liveness: this.#parts.liveness }, host);
    const { driven } = this;
    return { evacuation: evacuationView(host, seen, driven.isDriven(uuid), driven.refusedAt(uuid)) };
  }

  #find({ param }: Pick<RouteInput<undefined, undefined>, 'param'>): Promise<Found> {
    return this.#directory.compute(param('service_id'));
  }
}

/** @throws HttpError 400, as upstream for one instance, 404 for a target that there is not */
async function checkWhere(cloud: ActionParts, host: string, target: string | null): Promise<void> {
  try {
    await checkDown(cloud, host);
  } catch (error) {
    if (error instanceof UnexpectedStateError) throw badRequest(error.message);
    throw error;
  }
  if (target === host) throw badRequest(`Instances cannot be evacuated to their own host ${host}.`);
  if (target === null) return;
  const [known] = await cloud.records.services.find({ binary: 'compute', host: target });
  if (!known) throw notFound(`Compute host ${target} could not be found.`);
}
