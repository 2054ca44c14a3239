import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConfigurationError, ServerListenError, ServerWaitTimeoutError, within } from '@ebbgate/core';
import type { DrainableServer } from '@ebbgate/service';
import type { HttpApp } from './app.js';
import { isLoopback } from './auth.js';

/** Where the API listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/**
 * The API as a server that drains: from `stop()` on it accepts no connection, idle ones are closed at once, what comes on
 * the others is answered with 503, and what was begun is answered (HTTP-01, HTTP-02).
 */
export class HttpServer implements DrainableServer {
  readonly #app: HttpApp;
  readonly #listen: ListenAddress;
  /** Requests in progress, by connection. */
  readonly #connections = new Map<Socket, number>();
  #idle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) when everybody would be an admin from other machines too */
  constructor(app: HttpApp, listen: ListenAddress) {
    if (app.isOpen && !isLoopback(listen.host)) {
      throw new ConfigurationError(
        `Without a token file the API listens on 127.0.0.1, ::1 or localhost only, not on ${listen.host}: give --token-file`,
      );
    }
    this.#app = app;
    this.#listen = listen;
  }

  /** Undefined while it does not listen. */
  get address(): ListenAddress | undefined {
    const { server } = this.#app.fastify;
    if (!server.listening) return undefined;
    const { address, port } = server.address() as AddressInfo; // it listens on TCP
    return { host: address, port };
  }

  async start(): Promise<void> {
    await this.#app.fastify.ready();
    const { server } = this.#app.fastify;
    this.#watch(server);
    await new Promise<void>((resolve, reject) => {
      const { host, port } = this.#listen;
      server.once('error', (cause) => {
        reject(
          new ServerListenError(`The API cannot listen on ${host}:${String(port)}: ${cause.message}`, {
            cause,
          }),
        );
      });
      server.listen({ host, port }, resolve);
    });
  }

  async stop(): Promise<void> {
    if (this.#closed) return;
    this.#app.refuseNewWork();
    const { server } = this.#app.fastify;
    this.#closed = new Promise((resolve) => {
      server.close(() => resolve());
    });
    for (const [socket, requests] of this.#connections) if (requests === 0) socket.destroy();
  }

  /** Resolves when no request is in progress. */
  whenIdle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  async wait({ timeoutMs }: { readonly timeoutMs: number }): Promise<undefined> {
    const running = this.#running;
    const missing = (): Error =>
      new ServerWaitTimeoutError('Requests to the API were still in progress', { running, released: 0 });
    try {
      await within(this.whenIdle(), { timeoutMs }, missing);
    } finally {
      this.#app.fastify.server.closeAllConnections();
      await this.#closed;
      await this.#app.fastify.close();
    }
    return undefined;
  }

  get #running(): number {
    return [...this.#connections.values()].reduce((sum, requests) => sum + requests, 0);
  }

  #watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, 0);
      socket.once('close', () => {
        this.#connections.delete(socket);
        this.#tellIdle();
      });
    });
    server.on('request', ({ socket }, response) => {
      this.#count(socket, 1);
      response.once('close', () => this.#count(socket, -1));
    });
  }

  #count(socket: Socket, change: 1 | -1): void {
    const before = this.#connections.get(socket);
    if (before === undefined) return; // it is closed
    this.#connections.set(socket, before + change);
    if (change === 1 || before > 1) return;
    if (this.#closed) socket.end(); // it was kept only for this answer
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#running > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
