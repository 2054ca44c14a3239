import type { Server, ServerResponse } from 'node:http';
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

/** How long it waits for clients. */
export interface ClientPatience {
  /** For one that reads nothing of its answer; default 30000. */
  readonly readMs?: number;
  /** While it drains: for one to send the rest of its request, and to read the rest of its answer; default 5000. */
  readonly drainMs?: number;
}

/**
 * The API as a server that drains: from `stop()` on it accepts no connection, idle ones are closed at once, what comes on
 * the others is answered with 503, and what was begun is answered (HTTP-01, HTTP-02). Clients that are slow hold it up no
 * longer than its patience.
 */
export class HttpServer implements DrainableServer {
  readonly #app: HttpApp;
  readonly #listen: ListenAddress;
  readonly #patience: Required<ClientPatience>;
  /** Answers in progress, by connection. */
  readonly #connections = new Map<Socket, Set<ServerResponse>>();
  #idle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) when everybody would be an admin from other machines too */
  constructor(
    app: HttpApp,
    listen: ListenAddress,
    { readMs = 30_000, drainMs = 5_000 }: ClientPatience = {},
  ) {
    if (app.isOpen && !isLoopback(listen.host)) {
      throw new ConfigurationError(
        `Without a token file the API listens on 127.0.0.1, ::1 or localhost only, not on ${listen.host}: give --token-file`,
      );
    }
    this.#app = app;
    this.#listen = listen;
    this.#patience = { readMs, drainMs };
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
    for (const [socket, answers] of this.#connections) {
      if (answers.size === 0) socket.destroy();
      for (const answer of answers) this.#hurry(answer);
    }
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
    return [...this.#connections.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const answers = new Set<ServerResponse>();
      this.#connections.set(socket, answers);
      socket.once('close', () => {
        this.#connections.delete(socket);
        // Of those that wait for the answer before them Node does not tell.
        for (const answer of answers) if (!answer.socket) answer.emit('close');
        this.#tellIdle();
      });
    });
    server.on('request', ({ socket }, answer) => {
      this.#connections.get(socket)?.add(answer);
      const readFromNow = (): void => {
        if (this.#closed) this.#hurry(answer);
        else socket.setTimeout(this.#patience.readMs); // for the rest of this answer alone
      };
      answer.once('pipe', readFromNow); // one that is sent in pieces
      answer.once('prefinish', readFromNow);
      answer.once('close', () => this.#answered(socket, answer));
    });
  }

  /** What is done to answer is waited for, its client only so long. */
  #hurry(answer: ServerResponse): void {
    const cut = (): void => {
      if (!answer.req.complete || answer.headersSent) answer.destroy();
    };
    setTimeout(cut, this.#patience.drainMs).unref();
  }

  #answered(socket: Socket, answer: ServerResponse): void {
    const answers = this.#connections.get(socket);
    answers?.delete(answer);
    if (answers?.size !== 0) return; // it is closed, or has more
    if (this.#closed) socket.end(); // it was kept only for this answer
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#running > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
