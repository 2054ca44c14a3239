import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger, MaybePromise } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import type { ServiceHealth } from './snapshot.js';

/** Where the health endpoints listen. */
export interface HealthOptions {
  /** 0 for any free one; see `Service.healthAddress`. */
  readonly port: number;
  /** Default `127.0.0.1`: the answers name tasks, so they are not for everybody. */
  readonly host?: string;
  /** What `/metrics` answers; default: it is not there. A failure is logged, and answered with 500. */
  readonly metrics?: () => MaybePromise<MetricsText>;
}

/** Metrics in the form in which they are read. */
export interface MetricsText {
  /** For the header. */
  readonly contentType: string;
  /** All of them. */
  readonly text: string;
}

/** Where they do listen. */
export interface HealthAddress {
  /** The address. */
  readonly host: string;
  /** The port, also when 0 was asked for. */
  readonly port: number;
}

/** At most so many tasks are listed in an answer; `taskCount` has the number. */
const SHOWN_TASKS = 100;
const HEALTH_PATHS: ReadonlySet<string> = new Set(['/livez', '/readyz']);
/** A client that sends no request, or half of one, is cut off after so long. */
const SLOW_MS = 5_000;

/**
 * `GET /livez` answers 200 while the process lives; `GET /readyz` answers 200 while the service takes new requests, and
 * 503 from the moment a drain begins. Both bodies are JSON and tell the state, the step and the tasks. `GET /metrics`
 * answers what it is given. A listener of its own, closed after everything else. A {@link Service} opens one by itself; a
 * program that has to wait before it has a service opens it first, and gives it to the service.
 *
 * @example
 * const health = new HealthServer({ port: 9000 }, () => waiting, logger);
 * await health.open();
 * const service = new Service({ ...parts, health });
 */
export class HealthServer {
  readonly #options: HealthOptions;
  readonly #logger: Logger;
  #health: () => ServiceHealth;
  #server: Server | undefined;
  #opened: Promise<void> | undefined;

  /** @param health - what is answered, until {@link HealthServer.show} is called */
  constructor(options: HealthOptions, health: () => ServiceHealth, logger: Logger) {
    this.#options = options;
    this.#health = health;
    this.#logger = logger;
  }

  /** From now on this is answered. */
  show(health: () => ServiceHealth): void {
    this.#health = health;
  }

  /** Undefined while it does not listen. */
  get address(): HealthAddress | undefined {
    if (this.#server?.listening !== true) return undefined;
    const { address, port } = this.#server.address() as AddressInfo; // it listens on TCP
    return { host: address, port };
  }

  /** Resolves when it listens, at once when it does already; rejects when it cannot. */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<void> {
    const server = createServer(
      {
        keepAliveTimeout: SLOW_MS,
        requestTimeout: SLOW_MS,
        headersTimeout: SLOW_MS,
        connectionsCheckingInterval: 1_000, // Node's own is 30 s: slow clients would keep their connections so long
        maxHeaderSize: 8_192,
      },
      (request, response) => {
        this.#answer(request, response);
      },
    );
    server.on('clientError', (_error, socket) => {
      // What is no HTTP gets a short answer and no log line: anybody who can connect could fill the log.
      // Nor is its end waited for: it may never come.
      const destroy = (): void => {
        socket.destroy();
      };
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n', destroy);
      else destroy();
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: this.#options.port, host: this.#options.host ?? '127.0.0.1' }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => {
      this.#logger.warn({ error: describeError(error) }, 'The health listener reports an error');
    });
  }

  /** Resolves when no connection and no socket is left; idle and slow clients do not hold it. */
  async close(): Promise<void> {
    await this.#opened?.catch(() => undefined); // whoever called open() has been told
    const server = this.#server;
    this.#server = undefined;
    if (server?.listening !== true) return;
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume(); // bodies mean nothing here
    const path = request.url?.split('?', 1)[0] ?? '';
    const { metrics } = this.#options;
    const isMetrics = path === '/metrics' && metrics !== undefined;
    if (!isMetrics && !HEALTH_PATHS.has(path)) {
      reply(request, response, 404, { error: 'There are /livez and /readyz.' });
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      reply(request, response, 405, { error: 'Only GET and HEAD.' });
    } else if (isMetrics) {
      void this.#answerMetrics(request, response, metrics);
    } else {
      this.#answerHealth(request, response, path);
    }
  }

  #answerHealth(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { ready, live, snapshot } = this.#health();
    const { tasks, ...rest } = snapshot;
    const body = { ...rest, taskCount: tasks.length, tasks: tasks.slice(0, SHOWN_TASKS) };
    reply(request, response, (path === '/livez' ? live : ready) ? 200 : 503, body);
  }

  async #answerMetrics(
    request: IncomingMessage,
    response: ServerResponse,
    metrics: () => MaybePromise<MetricsText>,
  ): Promise<void> {
    try {
      const { contentType, text } = await metrics();
      replyText(request, response, 200, contentType, text);
    } catch (error) {
      this.#logger.warn({ error: describeError(error) }, 'The metrics could not be collected');
      reply(request, response, 500, { error: 'The metrics could not be collected.' });
    }
  }
}

/** Made by these options; or the one that is given, which answers this from now on. */
export function healthServerOf(
  given: HealthOptions | HealthServer,
  health: () => ServiceHealth,
  logger: Logger,
): HealthServer {
  if (!(given instanceof HealthServer)) return new HealthServer(given, health, logger);
  given.show(health);
  return given;
}

function reply(request: IncomingMessage, response: ServerResponse, status: number, body: object): void {
  replyText(request, response, status, 'application/json; charset=utf-8', `${JSON.stringify(body)}\n`);
}

function replyText(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  contentType: string,
  text: string,
): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
