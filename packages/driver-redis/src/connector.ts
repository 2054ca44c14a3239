import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions as ClientOptions } from 'ioredis';

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a connector does besides opening the streams of one client. */
export interface ConnectorHooks {
  /** Finds out where to connect to; without it the options of the client say so. */
  readonly locate?: (signal: AbortSignal) => Promise<Address>;
  /** Told of each error of a stream: ioredis does not say why Sentinels, or the nodes of a cluster, were not reached. */
  readonly onError: (error: Error) => void;
}

/**
 * What ioredis opens its streams with. It would hear one error of each; one over TLS can have two, when it is ended while it is
 * agreed on, and the second would end the process (REDIS-11).
 */
export function connectorOf({ locate, onError }: ConnectorHooks): NonNullable<ClientOptions['Connector']> {
  return class extends AbstractConnector {
    readonly #options: ClientOptions;
    readonly #ending = new AbortController();

    constructor(options: unknown) {
      const given = options as ClientOptions; // those of the client, with what ioredis takes by default
      super(given.disconnectTimeout ?? 0);
      this.#options = given;
    }

    async connect(): Promise<Socket> {
      const { host = 'localhost', port = 0, family, tls } = this.#options;
      const { signal } = this.#ending;
      const where = {
        host,
        port,
        ...(locate && (await locate(signal))),
        ...(family !== undefined && { family }),
      };
      signal.throwIfAborted();
      const stream = tls ? connectTls({ ...where, ...tls }) : connectTcp(where);
      this.stream = stream;
      stream.on('error', (error: Error) => {
        this.firstError ??= error;
        onError(error);
      });
      return stream;
    }

    override disconnect(): void {
      this.#ending.abort();
      super.disconnect();
    }
  };
}
