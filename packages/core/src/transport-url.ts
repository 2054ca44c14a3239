import type { InvalidTransportUrlError } from './errors.js';
import { showAs } from './inspection.js';
import { parseTransportHost, TransportHost, type TransportHostParts } from './transport-host.js';
import { formatQuery, parseQuery, queryOf, type TransportQuery } from './transport-query.js';
import { checkRawUrl, checkUrlPart, decodeUrlText, encodeUrlText, refuseUrl } from './url-text.js';

/** What a {@link TransportUrl} is made of; texts as they are meant, not percent-encoded. */
export interface TransportUrlParts {
  /** Without the colon. */
  readonly scheme: string;
  /** In order of preference. */
  readonly hosts?: readonly TransportHostParts[] | undefined;
  /** Empty text is another virtual host than none. */
  readonly virtualHost?: string | undefined;
  /** Options of the driver, not percent-encoded. */
  readonly query?: ReadonlyMap<string, string> | Readonly<Record<string, string>> | undefined;
}

const SCHEME = /^[a-z][a-z0-9+.-]*$/;

/**
 * `scheme://user:password@host:port,host2:port2/virtual-host?option=value`: where the broker is and who we are there.
 * The rules are those of oslo.messaging, except that what could be understood in two ways is refused:
 * `docs/decisions/0002-transport-url.md`. It never changes.
 *
 * {@link TransportUrl.format} and {@link TransportUrl.parse} are exact inverses, for any characters. Everything that
 * prints (`toString()`, JSON, inspection) shows `***` for passwords and for options that may be secret.
 */
export class TransportUrl {
  static {
    showAs(TransportUrl, (url) => `<TransportUrl ${url.toString()}>`);
  }

  /** In lower case, whole: `redis+sentinel`. */
  readonly scheme: string;
  /** In the order of the URL; at least one, unless the scheme needs none. */
  readonly hosts: readonly TransportHost[];
  /** Undefined when the URL has no path: `rabbit://host`. Empty when that is `/` alone. */
  readonly virtualHost: string | undefined;
  /** Options for the driver. */
  readonly query: ReadonlyMap<string, string>;

  private constructor(
    scheme: string,
    hosts: readonly TransportHost[],
    virtualHost: string | undefined,
    query: TransportQuery,
  ) {
    checkOrder(hosts);
    this.scheme = scheme;
    this.hosts = Object.freeze(hosts);
    this.virtualHost = virtualHost;
    this.query = query;
    Object.freeze(this);
  }

  /**
   * Reads a URL of text.
   * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`), which never holds any text of the URL.
   */
  static parse(text: string): TransportUrl {
    if (typeof text !== 'string') throw refuseUrl(`it must be text, not ${typeof text}`);
    checkRawUrl(text);
    const [scheme, rest] = cut(text, ':');
    if (rest === undefined) throw refuseNoScheme();
    const [place, query = ''] = cut(rest, '?');
    if (place !== '' && !place.startsWith('//')) throw refuseUrl('after the scheme there must follow "://"');
    const [authority, path] = cut(place.slice(2), '/');
    if (`${path ?? ''}${query}`.includes('@')) {
      throw refuseUrl('there is a "@" after a "/" or "?"; write them percent-encoded (%40, %2F, %3F)');
    }
    const virtualHost = path === undefined ? undefined : decodeUrlText(path, 'the virtual host');
    return new TransportUrl(checkScheme(scheme), parseHosts(authority), virtualHost, parseQuery(query));
  }

  /**
   * Makes a URL of its parts, which are not percent-encoded.
   * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`) for parts that no URL can have.
   */
  static of(parts: TransportUrlParts): TransportUrl {
    const { hosts = [], virtualHost, query = {} } = parts;
    const options = query instanceof Map ? query : Object.entries(query);
    return new TransportUrl(
      checkScheme(parts.scheme),
      hosts.map((host, index) =>
        host instanceof TransportHost ? host : new TransportHost(host, hostName(index)),
      ),
      virtualHost === undefined ? undefined : checkUrlPart(virtualHost, 'the virtual host'),
      queryOf(options as Iterable<[string, string]>), // of either form
    );
  }

  /** The URL with some parts replaced: a part that is given, even as undefined, replaces the whole part. */
  with(parts: Partial<TransportUrlParts>): TransportUrl {
    return TransportUrl.of({
      scheme: this.scheme,
      hosts: this.hosts,
      virtualHost: this.virtualHost,
      query: this.query,
      ...parts,
    });
  }

  /** Some hosts have credentials and some have none, which may be an oversight: hosts do not share them. */
  get hasMixedCredentials(): boolean {
    const given = this.hosts.filter((host) => host.username !== undefined).length;
    return given > 0 && given < this.hosts.length;
  }

  /** The same broker for the same user? Options play no part, as in oslo.messaging. */
  equals(other: TransportUrl): boolean {
    return (
      this.scheme === other.scheme &&
      this.virtualHost === other.virtualHost &&
      this.hosts.length === other.hosts.length &&
      this.hosts.every((host, index) => other.hosts[index]?.equals(host) === true)
    );
  }

  /** The URL **with its secrets**, so that parsing it gives an equal one. Not for logs. */
  format(): string {
    return this.#print((host) => host.format(), encodeUrlText);
  }

  /** For logs: the URL without its secrets. */
  toString(): string {
    return this.#print(
      (host) => host.toString(),
      () => '***',
    );
  }

  /** The text of {@link TransportUrl.toString}. */
  toJSON(): string {
    return this.toString();
  }

  #print(hostText: (host: TransportHost) => string, secret: (value: string) => string): string {
    const path = this.virtualHost?.split('/').map(encodeUrlText).join('/');
    const query = formatQuery(this.query, secret);
    return [
      `${this.scheme}://${this.hosts.map(hostText).join(',')}`,
      path === undefined ? '' : `/${path}`,
      query === '' ? '' : `?${query}`,
    ].join('');
  }
}

/** What is before the first such character, and what is after it if there is one. */
function cut(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

function checkScheme(text: unknown): string {
  const scheme = typeof text === 'string' ? text.toLowerCase() : '';
  if (!SCHEME.test(scheme)) throw refuseNoScheme();
  return scheme;
}

function refuseNoScheme(): InvalidTransportUrlError {
  return refuseUrl('it does not begin with a scheme, as "rabbit://host/" does');
}

function parseHosts(authority: string): TransportHost[] {
  const texts = authority.split(',').filter((text) => text !== '');
  return texts.map((text, index) => parseTransportHost(text, hostName(index)));
}

function hostName(index: number): string {
  return `host ${index + 1}`;
}

/** A password with a comma that was not encoded looks like a host without and one with credentials: `u:12,34@host`. */
function checkOrder(hosts: readonly TransportHost[]): void {
  const without = hosts.findIndex((host) => host.username === undefined);
  if (without < 0 || hosts.slice(without).every((host) => host.username === undefined)) return;
  throw refuseUrl(
    'a host without credentials stands before one with; put it last, or write the commas of a password as %2C',
  );
}
