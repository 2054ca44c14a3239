import { randomUUID } from 'node:crypto';
import type { Logger, TypedEvents } from '@ebbgate/core';
import type { TaskRegistry } from '@ebbgate/service';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { ActionParts } from '../api/action-parts.js';
import type { RecordEvents } from '../db/memory-records.js';
import type { SeenCells } from './all-cells.js';
import { ApiRoutes } from './api-routes.js';
import { isLoopback, type TokenValidator } from './auth.js';
import { ConnectionOrder } from './connection-order.js';
import { registerConsoles } from './console-routes.js';
import { registerDrain } from './drain-route.js';
import { registerEvacuations } from './evacuation-routes.js';
import { registerExternalEvents } from './external-event-routes.js';
import { answerUnreadable, httpErrorOf } from './faults.js';
import { registerFlavors } from './flavor-routes.js';
import { faultBody, HttpError } from './http-error.js';
import { registerHypervisors } from './hypervisor-routes.js';
import { registerImages } from './image-routes.js';
import type { HttpMetrics } from './metrics.js';
import { negotiate, versionHeaders } from './microversion.js';
import { registerMigrations } from './migration-routes.js';
import { registerOpenApi } from './openapi.js';
import type { EventStreamsOptions } from './page/event-streams.js';
import { OperatorsPage } from './page/page-routes.js';
import type { Policy } from './policy.js';
import { RateLimit } from './rate-limit.js';
import type { ServiceCells } from './service-directory.js';
import { registerServerActions } from './server-actions.js';
import { registerServerMigrations } from './server-migration-routes.js';
import { registerServers } from './servers-routes.js';
import { registerServices } from './services-routes.js';
import { registerVersions } from './version-document.js';
import { registerZones } from './zone-routes.js';

/** What the HTTP API is made of. */
export interface HttpParts extends ActionParts {
  /** All cells, which are shown together; absent: there is one. */
  readonly cells?: NonNullable<ActionParts['cells']> & ServiceCells & SeenCells;
  /** Who has which token. */
  readonly validator: TokenValidator;
  /** Who may do what. */
  readonly policy: Policy;
  /** What runs: each request is a task in it, and what a request leaves behind. */
  readonly tasks: TaskRegistry;
  readonly logger: Logger;
  /** Hears of each answer; default: nobody does. */
  readonly metrics?: HttpMetrics;
  /** Requests a second that each caller may make; default 1000; 0: no limit. */
  readonly rateLimit?: number;
  /** How often the evacuation of a host is looked at; default 500. */
  readonly evacuationLookMs?: number;
  /** Tells of each change of a record, whoever makes it; absent: it is looked for what has changed. */
  readonly events?: TypedEvents<RecordEvents> | undefined;
  /** Of the events on the page for operators. */
  readonly streams?: Pick<EventStreamsOptions, 'maxClients' | 'coalesceMs' | 'lookMs' | 'heartbeatMs'>;
  /** Milliseconds of a clock that only goes forward; default `performance.now`. */
  readonly now?: () => number;
}

/** The application, ready for requests and not listening. */
export interface HttpApp {
  readonly fastify: FastifyInstance;
  /** Everybody is an admin. */
  readonly isOpen: boolean;
  /** From here on everything is answered with 503, and connections are closed. */
  refuseNewWork(): void;
}

/** As upstream's `max_request_body_size`. */
const BODY_BYTES = 114_688;
const SLOW_MS = 30_000;
/** What links may begin with; a request of HTTP/1.0 may have none. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]*)(?::\d{1,5})?$/i;

/** Makes the application. A further group of routes is one function `register…(routes, parts)`, named here. */
export function createApp(parts: HttpParts): HttpApp {
  const app = newFastify();
  const page = new OperatorsPage(parts);
  let isDraining = false;
  const refuseWhenDraining = (): void => {
    if (isDraining) throw draining();
  };
  const limit = new RateLimit({
    perSecond: parts.rateLimit ?? 1000,
    now: parts.now ?? (() => performance.now()),
  });
  const order = new ConnectionOrder();
  takeJsonAlone(app);
  app.decorateRequest('api', null);
  app.addHook('onRequest', async (request, reply) => {
    identify(request, reply);
    refuseWhenDraining();
    recordTask(parts.tasks, request, reply);
    if (!(await order.turn(request.raw.socket, reply.raw))) throw draining();
    refuseWhenDraining(); // once more: it may have waited
    await letIn(parts, page, limit, request, reply);
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isDraining) reply.header('Connection', 'close');
  });
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    parts.metrics?.answered(method, routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime);
  });
  answerErrors(app, parts.logger);
  const routes = new ApiRoutes(app, parts.policy);
  registerVersions(app, page);
  page.register(app);
  registerServices(routes, parts);
  registerFlavors(routes, parts);
  registerImages(routes, parts);
  registerZones(routes, parts);
  registerHypervisors(routes, parts);
  registerMigrations(routes, parts);
  registerServers(routes, parts);
  registerServerActions(routes, parts);
  registerConsoles(routes, parts);
  registerServerMigrations(routes, parts);
  registerExternalEvents(routes, parts);
  const evacuations = registerEvacuations(routes, parts);
  registerDrain(routes, parts);
  registerOpenApi(app, routes);
  routes.refuseOtherMethods();
  return {
    fastify: app,
    isOpen: parts.validator.isOpen,
    refuseNewWork: () => {
      isDraining = true;
      evacuations.stop();
      page.streams.close();
    },
  };
}

function newFastify(): FastifyInstance {
  return fastify({
    bodyLimit: BODY_BYTES,
    requestTimeout: SLOW_MS,
    http: { headersTimeout: SLOW_MS, connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 255 },
    return503OnClosing: false, // done here, in the form of all errors
    genReqId: () => `req-${randomUUID()}`,
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => {
      // Before any hook: a path that is too long, or cannot be decoded.
      identify(request, reply);
      const known = httpErrorOf(error);
      sendError(reply, known?.status === 414 ? known : new HttpError(400, 'Malformed request URL'));
    },
  });
}

/** A body that is empty is none, whatever type it is said to be: clients say so of each request. */
function takeJsonAlone(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain');
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null);
    else void parse(request, body, done);
  });
}

function identify(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'X-OpenStack-Request-ID': request.id, 'X-Compute-Request-ID': request.id });
}

function draining(): HttpError {
  return new HttpError(503, 'The API is shutting down', { 'Retry-After': '1' });
}

/** Who asks, how often, and for which version: in this order, as upstream. */
async function letIn(
  { validator }: HttpParts,
  page: OperatorsPage,
  limit: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (!HOST.test(request.host)) throw new HttpError(400, 'The Host of the request is no name or address');
  // A page of the web that has this machine's address under its own name must not come in.
  if (validator.isOpen && !isLoopback(request.hostname))
    throw new HttpError(403, 'This API is for its own machine only');
  refuseOtherPages(request);
  const { isPublic = false, unasked = 1 } = request.routeOptions.config;
  const caller = await validator.validate(page.tokenOf(request));
  checkRate(limit, caller?.userId ?? request.ip);
  if (isPublic) return;
  if (!caller) throw unauthorized();
  const version = negotiate(request.headers, unasked);
  reply.headers(versionHeaders(version));
  request.api = { id: request.id, caller, version };
}

/** A page from elsewhere may lead here, and have its visitor's browser ask for nothing else. */
function refuseOtherPages({ method, headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  const isElsewhere = site === 'cross-site' || site === 'same-site';
  const isLink = method === 'GET' && headers['sec-fetch-mode'] === 'navigate';
  if (isElsewhere && !isLink) throw new HttpError(403, 'Pages from elsewhere may not ask for this');
}

function checkRate(limit: RateLimit, caller: string): void {
  const waitS = limit.take(caller);
  if (waitS === 0) return;
  const retryAfter = String(Math.ceil(waitS));
  throw new HttpError(429, 'Too many requests; try again later', { 'Retry-After': retryAfter });
}

function unauthorized(): HttpError {
  const message = 'The request you have made requires authentication.';
  return new HttpError(401, message, { 'WWW-Authenticate': 'Keystone uri=""' });
}

/** A drain waits for what was begun, and tells what that is. */
function recordTask(tasks: TaskRegistry, request: FastifyRequest, reply: FastifyReply): void {
  const name = `${request.method} ${request.routeOptions.url ?? 'unknown path'}`;
  const task = tasks.open({ name, kind: 'handler', requestId: request.id });
  reply.raw.once('close', () => task.end());
}

function answerErrors(app: FastifyInstance, logger: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    const known = httpErrorOf(error);
    const about = { requestId: request.id, method: request.method, route: request.routeOptions.url };
    if (known && (error === known || known.status < 500))
      logger.debug({ ...about, status: known.status }, 'A request was refused');
    else logger.error({ ...about, err: error }, 'A request failed');
    sendError(reply, known ?? new HttpError(500, 'Unexpected API Error. The log of the API has its cause.'));
  });
  app.setNotFoundHandler((_request, reply) => {
    sendError(reply, new HttpError(404, 'The resource could not be found.'));
  });
}

function sendError(reply: FastifyReply, error: HttpError): void {
  void reply.code(error.status).headers(error.headers).send(faultBody(error));
}
