import { inspect } from 'node:util';
import type { TransportHost, TransportUrl } from '@ebbgate/core';

/** What RabbitMQ's own default user may be reached by: from the broker's host only, unless it was changed. */
const GUEST = 'guest';
const PORT = 5672;
const TLS_PORT = 5671;
const TLS_SCHEMES: ReadonlySet<string> = new Set(['rabbits', 'amqps', 'amqp10s']);

/** Does the scheme alone ask for TLS? */
export function isTlsScheme(scheme: string): boolean {
  return TLS_SCHEMES.has(scheme);
}

/** One broker, with the credentials for it. The password is readable, but inspection, JSON and copies do not show it. */
export class RabbitHost {
  static {
    // Not left to what inspection does by itself: with `showHidden` and `getters` it would call the getter.
    Object.defineProperty(RabbitHost.prototype, inspect.custom, {
      value(this: RabbitHost): string {
        return `<RabbitHost ${this.username}@${this.hostname}:${this.port}>`;
      },
    });
  }

  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly #password: string;

  constructor(parts: Pick<RabbitHost, 'hostname' | 'port' | 'username' | 'password'>) {
    this.hostname = parts.hostname;
    this.port = parts.port;
    this.username = parts.username;
    this.#password = parts.password;
    Object.freeze(this);
  }

  get password(): string {
    return this.#password;
  }
}

/**
 * The hosts of the URL, complete, as oslo.messaging's driver makes them (`vectors/transport_urls.json`): without hosts
 * `localhost`; a host without credentials gets guest/guest, also beside others that have some; a user without a
 * password has the empty one. The port is 5671 for `rabbits:` and `amqps:`, else 5672, also with `ssl=true`.
 */
export function rabbitHosts(url: TransportUrl): readonly RabbitHost[] {
  const port = isTlsScheme(url.scheme) ? TLS_PORT : PORT;
  const hosts: readonly Pick<TransportHost, 'hostname' | 'port' | 'username' | 'password'>[] =
    url.hosts.length > 0
      ? url.hosts
      : [{ hostname: 'localhost', port: undefined, username: undefined, password: undefined }];
  const complete = hosts.map((host) => {
    const noCredentials = host.username === undefined;
    return new RabbitHost({
      hostname: host.hostname,
      port: host.port ?? port,
      username: host.username ?? GUEST,
      password: noCredentials ? GUEST : (host.password ?? ''),
    });
  });
  return Object.freeze(complete);
}
