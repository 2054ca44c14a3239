import type { Logger, Transport } from '@ebbgate/core';
import type { ClientInterceptor, RpcServer } from '@ebbgate/rpc';
import type { Notifications } from '../notifications/notifications.js';
import { OperationAbortedError } from '../errors.js';
import type { CompleteHostOptions } from './host-options.js';

/** How a host reaches its broker. */
export type HostConnectionOptions = Pick<
  CompleteHostOptions,
  'openTransport' | 'ownsTransport' | 'notifications' | 'logger'
>;

/** The way of one run of a host to the broker: a transport of its own, or its part of one that others use too. */
export class HostConnection {
  readonly transport: Transport;
  /** Around all that the run sends: on a shared transport its end ends what waits for answers, and nothing is sent after it. */
  readonly interceptors: readonly ClientInterceptor[];
  readonly #isOwn: boolean;
  readonly #notifications: Notifications;
  readonly #logger: Logger;
  readonly #end = new AbortController();

  constructor({ openTransport, ownsTransport, notifications, logger }: HostConnectionOptions) {
    this.transport = openTransport();
    this.#isOwn = ownsTransport;
    this.#notifications = notifications;
    this.#logger = logger;
    this.interceptors = ownsTransport ? [] : [this.#untilEnd];
  }

  /**
   * Resolves when nothing of the run is left at the broker. Requests that a shared transport still serves for it get the
   * answers of their handlers, which have been told to end. What it has told outside has a moment to get there.
   *
   * @param limitMs - for these
   */
  async end(servers: readonly RpcServer[], limitMs: number): Promise<void> {
    await Promise.all([this.#endAtBroker(servers, limitMs), this.#notifications.settle()]);
  }

  async #endAtBroker(servers: readonly RpcServer[], limitMs: number): Promise<void> {
    if (this.#isOwn) {
      await this.transport.close();
      return;
    }
    this.#end.abort(new OperationAbortedError('The process has ended'));
    await Promise.all(servers.map((server) => this.#endServer(server, limitMs)));
  }

  async #endServer(server: RpcServer, timeoutMs: number): Promise<void> {
    try {
      await server.stop();
      await server.wait({ timeoutMs });
    } catch (error) {
      this.#logger.warn({ err: error, topic: server.target.topic }, 'A server has not ended in order');
    }
  }

  readonly #untilEnd: ClientInterceptor = (call, next) => {
    const { signal: own } = call.options;
    const signal = own ? AbortSignal.any([own, this.#end.signal]) : this.#end.signal;
    return next({ ...call, options: { ...call.options, signal } });
  };
}
