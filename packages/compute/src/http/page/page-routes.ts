import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { HttpParts } from '../app.js';
import type { Caller } from '../auth.js';
import { HttpError } from '../http-error.js';
import { readInput } from '../read-input.js';
import { cloudLook } from './cloud-look.js';
import { EventStreams } from './event-streams.js';
import { PageFiles } from './page-files.js';
import { Sessions } from './sessions.js';

/** What somebody must be allowed to see all that the page shows. */
const POLICIES = [
  'os_compute_api:os-services:list',
  'os_compute_api:servers:detail:get_all_tenants',
  'os_compute_api:os-migrations:index',
] as const;

const PUBLIC = { config: { isPublic: true } };
const SIGN_IN = [{ since: 1, schema: z.strictObject({ token: z.string().min(1).max(4096) }) }];

/** The page for operators, as far as the application has to know of it. */
export class OperatorsPage {
  /** Who is signed in. */
  readonly sessions: Sessions = new Sessions();
  /** Who listens. */
  readonly streams: EventStreams;
  readonly #files = new PageFiles();
  readonly #parts: HttpParts;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    const { logger, events, streams } = parts;
    this.streams = new EventStreams({ newLook: () => cloudLook(parts), events, logger, ...streams });
  }

  /** Adds its files, sign in and out, and the stream of events. What is at `/` is the business of the versions. */
  register(app: FastifyInstance): void {
    app.get<{ Params: { readonly name: string } }>('/page/:name', PUBLIC, (request, reply) =>
      this.#files.send(request.params.name, request, reply),
    );
    app.get('/page/session', PUBLIC, (request) => this.#session(request));
    app.post('/page/session', PUBLIC, (request, reply) => this.#signIn(request, reply));
    app.delete('/page/session', PUBLIC, (request, reply) =>
      reply.header('Set-Cookie', this.sessions.end(request.headers)).code(204).send(),
    );
    app.get('/page/events', { exposeHeadRoute: false }, (request, reply) => this.#listen(request, reply));
    app.addHook('onClose', () => {
      this.streams.close();
    });
  }

  /** The page itself. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    return this.#files.send('index.html', request, reply);
  }

  /** The token of a request: its own, or that of its session. */
  tokenOf({ method, headers }: FastifyRequest): string | undefined {
    const own = headers['x-auth-token'];
    return typeof own === 'string' ? own : this.sessions.tokenOf(method, headers);
  }

  /** Who is signed in, and whether nobody needs to be. */
  async #session({ method, headers }: FastifyRequest): Promise<object> {
    const { validator } = this.#parts;
    const caller = await validator.validate(this.sessions.tokenOf(method, headers));
    if (!caller) throw new HttpError(401, 'Nobody is signed in');
    this.#enforce(caller);
    return { user: caller.userId, open: validator.isOpen };
  }

  /** @throws HttpError 403 */
  #enforce(caller: Caller): void {
    for (const rule of POLICIES) this.#parts.policy.enforce(rule, caller);
  }

  async #signIn({ body }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { token } = readInput('body', SIGN_IN, { minor: 1, ebbgate: 0 }, body);
    const caller = await this.#parts.validator.validate(token);
    if (!caller) throw new HttpError(401, 'This token is not valid');
    return reply.header('Set-Cookie', this.sessions.begin(token)).code(204).send();
  }

  #listen(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { policy, validator } = this.#parts;
    const { api } = request;
    if (!api) throw new TypeError('A request was not let in');
    this.#enforce(api.caller);
    this.streams.checkRoom();
    const isAllowed = async (): Promise<boolean> => {
      try {
        const caller = await validator.validate(this.tokenOf(request));
        return caller !== undefined && POLICIES.every((rule) => policy.allows(rule, caller));
      } catch {
        return true; // it cannot be told now
      }
    };
    void reply.hijack();
    const headers = Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]);
    this.streams.add(reply.raw, Object.fromEntries(headers) as Record<string, string>, isAllowed); // texts, as just made
    return reply;
  }
}
