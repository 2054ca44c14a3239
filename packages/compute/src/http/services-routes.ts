import type { ServiceChanges, ServiceFilter, ServiceRecord } from '../db/repositories.js';
import { changeService } from '../api/services.js';
import { deleteService } from '../api/delete-service.js';
import { UnexpectedStateError } from '../errors.js';
import type { ApiRoutes, RouteInput } from './api-routes.js';
import type { HttpParts } from './app.js';
import { badRequest, notFound } from './http-error.js';
import { isUuid } from './read-input.js';
import { onlyComputes, type ServiceCell, ServiceDirectory } from './service-directory.js';
import {
  type ActionBody,
  LIST_ANSWER,
  LIST_QUERIES,
  type ListQuery,
  UPDATE_ANSWER,
  UPDATE_BODIES,
  type UpdateBody,
} from './service-schemas.js';
import { clientBinary, ownBinary, serviceView, UUID_MINOR } from './service-view.js';

type PathInput = Pick<RouteInput<undefined, undefined>, 'version' | 'param'>;
type UpdateInput<Body = ActionBody | UpdateBody> = RouteInput<Body, undefined>;

const UNREACHABLE_MINOR = 69;
const FORCE_DOWN_MINOR = 11;
/** Requests that ask for no version get the answers of the document by which they are written. */
const UNASKED = FORCE_DOWN_MINOR;
const POLICY = 'os_compute_api:os-services';

/** `os-services`: who there is, and what operators say of them. */
export function registerServices(routes: ApiRoutes, parts: HttpParts): void {
  const services = new ServicesRoutes(parts);
  routes.add<undefined, ListQuery>({
    method: 'GET',
    path: '/os-services',
    summary: 'Lists the services',
    policy: `${POLICY}:list`,
    unasked: UNASKED,
    query: LIST_QUERIES,
    status: 200,
    answer: LIST_ANSWER,
    errors: [],
    handle: (input) => services.list(input),
  });
  routes.add<ActionBody | UpdateBody>({
    method: 'PUT',
    path: '/os-services/{service_id}',
    summary:
      'Updates a service: from 2.53 the one with this uuid; before that the one in the body, by enable, disable, disable-log-reason or, from 2.11, force-down',
    policy: `${POLICY}:update`,
    unasked: UNASKED,
    body: UPDATE_BODIES,
    check: checkUuid,
    status: 200,
    answer: UPDATE_ANSWER,
    errors: [404],
    handle: (input) => services.update(input),
  });
  routes.add({
    method: 'DELETE',
    path: '/os-services/{service_id}',
    summary: 'Deletes a service that has nothing any more; by uuid from 2.53, by number before',
    policy: `${POLICY}:delete`,
    unasked: UNASKED,
    check: checkId,
    status: 204,
    errors: [404, 409],
    handle: (input) => services.delete(input),
  });
}

/** @throws HttpError 400 */
export function checkServiceUuid({ param }: Pick<PathInput, 'param'>): void {
  if (!isUuid(param('service_id'))) throw badRequest('Invalid uuid in the path');
}

function checkUuid(input: PathInput): void {
  if (input.version.minor >= UUID_MINOR) checkServiceUuid(input);
}

function checkId(input: PathInput): void {
  checkUuid(input);
  if (input.version.minor >= UUID_MINOR || /^\d{1,15}$/.test(input.param('service_id'))) return;
  throw badRequest('Invalid id in the path: it must be a whole number');
}

class ServicesRoutes {
  readonly #parts: HttpParts;
  readonly #directory: ServiceDirectory;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#directory = new ServiceDirectory(parts, parts.cells);
  }

  async list({ query, version }: RouteInput<undefined, ListQuery>): Promise<unknown> {
    const where = filterOf(query);
    if (!where) return { services: [] };
    const { services, unreachable } = await this.#directory.list(where);
    const views = services.map((one) => serviceView(one, this.#parts.liveness, version));
    if (version.minor < UNREACHABLE_MINOR) return { services: views };
    const unknown = unreachable.map(({ binary, host }) => ({
      binary: clientBinary(binary),
      host,
      status: 'UNKNOWN',
    }));
    return { services: [...views, ...unknown] };
  }

  update(input: UpdateInput): Promise<unknown> {
    const { body } = input;
    return 'host' in body ? this.#act({ ...input, body }) : this.#change({ ...input, body });
  }

  async delete({ version, param }: RouteInput<undefined, undefined>): Promise<void> {
    const given = param('service_id');
    const where = version.minor >= UUID_MINOR ? { uuid: given.toLowerCase() } : { id: Number(given) };
    const { cell, service } = await this.#find(where, `Service ${given} not found.`);
    await deleteService(cell.records, service);
  }

  /** Before 2.53: the path has the action, the body the service. */
  async #act(input: UpdateInput<ActionBody>): Promise<unknown> {
    const { body, version, param } = input;
    const { host, binary } = body;
    const changes = actionOf(param('service_id'), body, version.minor);
    const own = ownBinary(binary);
    const missing = `Host '${host}' is not mapped to any cell, or has no service ${binary}`;
    if (own === undefined) throw notFound(missing);
    const { cell, service } = await this.#find({ binary: own, host }, missing);
    onlyComputes(service);
    await this.#write(input, cell, service, changes);
    const { disabled, disabledReason, forcedDown } = changes;
    return {
      service: {
        host,
        binary,
        ...(disabled !== undefined && { status: disabled ? 'disabled' : 'enabled' }),
        ...(typeof disabledReason === 'string' && { disabled_reason: disabledReason }),
        ...(forcedDown !== undefined && { forced_down: forcedDown }),
      },
    };
  }

  /** From 2.53: the path has the service, the body what changes. */
  async #change(input: UpdateInput<UpdateBody>): Promise<unknown> {
    const { body, version, param } = input;
    const { cell, service } = await this.#directory.compute(param('service_id'));
    const changed = await this.#write(input, cell, service, changesOf(body));
    return { service: serviceView(changed, this.#parts.liveness, version) };
  }

  async #find(
    where: ServiceFilter,
    missing: string,
  ): Promise<{ readonly cell: ServiceCell; readonly service: ServiceRecord }> {
    const found = await this.#directory.findOne(where);
    if (!found) throw notFound(missing);
    return found;
  }

  /** @throws HttpError 400 when evacuations are open, as upstream: the message says what to do (FD-23) */
  async #write(
    { context, caller, body }: UpdateInput,
    { records, computeApi }: ServiceCell,
    service: ServiceRecord,
    changes: ServiceChanges,
  ): Promise<ServiceRecord> {
    const forcedDownNote = { by: caller.userId, reason: body.forced_down_reason ?? null };
    const noted = changes.forcedDown === true ? { ...changes, forcedDownNote } : changes;
    try {
      return await changeService({ ...this.#parts, records, computeApi }, context, service, noted);
    } catch (error) {
      if (error instanceof UnexpectedStateError) throw badRequest(error.message);
      throw error;
    }
  }
}

/** Undefined: nothing can fit. */
function filterOf({ host, binary }: ListQuery): ServiceFilter | undefined {
  const own = binary ? ownBinary(binary) : undefined;
  if (binary && own === undefined) return undefined;
  return { ...(host && { host }), ...(own !== undefined && { binary: own }) };
}

function actionOf(action: string, body: ActionBody, minor: number): ServiceChanges {
  const { disabled_reason: reason, forced_down: forcedDown } = body;
  if (action === 'enable') return { disabled: false, disabledReason: null };
  if (action === 'disable') return { disabled: true, disabledReason: null };
  if (action === 'disable-log-reason') {
    if (reason === undefined) throw badRequest('Missing disabled reason field');
    return { disabled: true, disabledReason: reason };
  }
  if (action !== 'force-down' || minor < FORCE_DOWN_MINOR) throw notFound('Unknown action');
  if (forcedDown === undefined) throw badRequest('Missing forced_down field');
  checkWhy(body);
  return { forcedDown };
}

/** @throws HttpError 400 */
function checkWhy({ forced_down: forcedDown, forced_down_reason: reason }: ActionBody | UpdateBody): void {
  if (reason !== undefined && forcedDown !== true)
    throw badRequest("Specifying 'forced_down_reason' without 'forced_down' true is invalid.");
}

function changesOf(body: UpdateBody): ServiceChanges {
  const { status, disabled_reason: reason, forced_down: forcedDown } = body;
  if (status === 'enabled' && reason !== undefined)
    throw badRequest("Specifying 'disabled_reason' with status 'enabled' is invalid.");
  if (status === undefined && forcedDown === undefined)
    throw badRequest("No updates were requested. Fields 'status' or 'forced_down' should be specified.");
  checkWhy(body);
  return {
    ...(status !== undefined && { disabled: status === 'disabled', disabledReason: reason ?? null }),
    ...(forcedDown !== undefined && { forcedDown }),
  };
}
