import { inspect } from 'node:util';
import { ConfigurationError, type TransportHost, type TransportUrl } from '@ebbgate/core';

/** How the hosts of a URL belong together. */
export type Layout = 'servers' | 'sentinel' | 'cluster';

const PORTS = { redis: 6379, rediss: 6380, sentinel: 26_379 } as const;

/** One host with the credentials for it. The password is readable, but inspection, JSON and copies do not show it. */
export class StoreHost {
  static {
    // Not left to what inspection does by itself: with `showHidden` and `getters` it would call the getter.
    Object.defineProperty(StoreHost.prototype, inspect.custom, {
      value(this: StoreHost): string {
        return `<StoreHost ${this.username ?? ''}@${this.hostname}:${String(this.port)}>`;
      },
    });
  }

  readonly hostname: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly #password: string | undefined;

  constructor({ hostname, port, username, password }: Partial<TransportHost>, defaultPort: number) {
    this.hostname = hostname === undefined || hostname === '' ? 'localhost' : hostname;
    this.port = port ?? defaultPort;
    this.username = username === '' ? undefined : username;
    this.#password = password;
    Object.freeze(this);
  }

  get password(): string | undefined {
    return this.#password;
  }
}

/** Where the store is. */
export interface Place {
  readonly layout: Layout;
  readonly hosts: readonly StoreHost[];
  /** The name under which Sentinels know the store; empty otherwise. */
  readonly masterName: string;
  readonly database: number;
  readonly tls: boolean;
}

const SCHEME = /^(rediss?)(?:\+(sentinel|cluster))?$/;

/**
 * What scheme, hosts and path of a URL say: `redis://host/0`, `redis+sentinel://h1,h2/name/0`, `redis+cluster://h1,h2/`.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for another scheme, or for a path that means nothing there.
 */
export function placeOf(url: TransportUrl): Place {
  const [, scheme, kind] = SCHEME.exec(url.scheme) ?? [];
  if (scheme !== 'redis' && scheme !== 'rediss')
    throw new ConfigurationError(
      `The Redis driver has no scheme ${url.scheme}:; there are redis:, rediss:, and each with +sentinel or +cluster`,
    );
  const layout: Layout = kind === 'sentinel' || kind === 'cluster' ? kind : 'servers';
  const port = layout === 'sentinel' ? PORTS.sentinel : PORTS[scheme];
  const hosts = url.hosts.length > 0 ? url.hosts : [{}];
  return Object.freeze({
    layout,
    hosts: Object.freeze(hosts.map((host) => new StoreHost(host, port))),
    ...pathOf(url, layout),
    tls: scheme === 'rediss',
  });
}

function pathOf(url: TransportUrl, layout: Layout): Pick<Place, 'masterName' | 'database'> {
  const parts = (url.virtualHost ?? '').split('/');
  const masterName = layout === 'sentinel' ? (parts.shift() ?? '') : '';
  if (layout === 'sentinel' && masterName === '')
    throw new ConfigurationError(`${url.scheme}: needs the name of the store: ${url.scheme}://host/NAME`);
  const database = databaseOf(parts);
  if (layout === 'cluster' && database !== 0)
    throw new ConfigurationError('A Redis cluster has database 0 alone; leave the path of the URL out');
  return { masterName, database };
}

function databaseOf(parts: readonly string[]): number {
  const text = parts.join('/');
  if (text === '') return 0;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new ConfigurationError(
    'The path of a Redis URL is the number of the database, as in redis://localhost/0; behind the name with Sentinel',
  );
}
