import { isIPv6 } from 'node:net';
import { showAs } from './inspection.js';
import { checkUrlPart, decodeUrlText, encodeUrlText, refuseUrl } from './url-text.js';

/** What a {@link TransportHost} is made of. */
export interface TransportHostParts {
  /** A name or an address; IPv6 without brackets, its zone after `%`. */
  readonly hostname: string;
  /** 1 … 65535. Absent: the driver's default. */
  readonly port?: number | undefined;
  /** In clear, not percent-encoded. */
  readonly username?: string | undefined;
  /** In clear, not percent-encoded. */
  readonly password?: string | undefined;
}

/** What a name may not hold, as it would be read as something else. */
const NOT_IN_NAMES = /[\s\p{Cc}%/?#@,[\]:\\]/u;

/**
 * One broker of a {@link TransportUrl}, with the credentials for it, decoded. Hosts do not inherit credentials from
 * each other. The password is readable, but never printed: not by `toString()`, nor as JSON, nor on inspection.
 */
export class TransportHost {
  static {
    showAs(TransportHost, (host) => `<TransportHost ${host.toString()}>`);
  }

  /** Name or address; IPv6 without brackets. */
  readonly hostname: string;
  /** Undefined for the driver's default. */
  readonly port: number | undefined;
  /** Undefined when there are no credentials. */
  readonly username: string | undefined;
  readonly #password: string | undefined;

  /**
   * @param what Which host it is, for errors.
   * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`)
   */
  constructor(parts: TransportHostParts, what = 'the host') {
    const hostname = checkUrlPart(parts.hostname, `the name of ${what}`);
    if (!isIPv6(hostname) && (hostname === '' || NOT_IN_NAMES.test(hostname))) {
      throw refuseUrl(`${what} has no usable name; it must be a name, an IPv4 address, or an IPv6 address`);
    }
    this.hostname = hostname;
    this.port = parts.port === undefined ? undefined : checkPort(parts.port, what);
    this.#password = optional(parts.password, `the password of ${what}`);
    // In a URL a password cannot stand without a user name, only with an empty one.
    const noName = this.#password === undefined ? undefined : '';
    this.username = optional(parts.username, `the user of ${what}`) ?? noName;
    Object.freeze(this);
  }

  /** In clear: not for logs. */
  get password(): string | undefined {
    return this.#password;
  }

  /** All parts are the same. */
  equals(other: TransportHost): boolean {
    return this.format() === other.format();
  }

  /** `user:password@host:port` as it stands in the URL, **with the password**. */
  format(): string {
    return this.#print(encodeUrlText);
  }

  /** The same with `***` for the password. */
  toString(): string {
    return this.#print(() => '***');
  }

  /** The text of {@link TransportHost.toString}. */
  toJSON(): string {
    return this.toString();
  }

  #print(secret: (password: string) => string): string {
    const password = this.#password === undefined ? '' : `:${secret(this.#password)}`;
    const credentials = this.username === undefined ? '' : `${encodeUrlText(this.username)}${password}@`;
    return `${credentials}${addressText(this.hostname)}${this.port === undefined ? '' : `:${this.port}`}`;
  }
}

/** Reads one host of a URL, `user:password@host:port`. */
export function parseTransportHost(text: string, what: string): TransportHost {
  const at = text.indexOf('@');
  if (at !== text.lastIndexOf('@')) {
    throw refuseUrl(`more than one "@" stands before ${what}; write those of user and password as %40`);
  }
  const address = /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::(.*))?$/.exec(text.slice(at + 1));
  if (address === null) {
    throw refuseUrl(`${what} is not "name", "name:port", "[IPv6]" or "[IPv6]:port"`);
  }
  const [, bracketed, name = '', port] = address;
  if (bracketed === undefined && name === '' && at >= 0) {
    throw refuseUrl(`${what} has credentials, but no name`);
  }
  const credentials = at < 0 ? {} : parseCredentials(text.slice(0, at), what);
  const hostname = bracketed === undefined ? name : parseIPv6(bracketed, what);
  return new TransportHost({ ...credentials, hostname, port: parsePort(port, what) }, what);
}

/** Up to the first ":" it is the user. */
function parseCredentials(text: string, what: string): Pick<TransportHostParts, 'username' | 'password'> {
  if (/[[\]]/.test(text)) throw refuseUrl(`a bracket stands before ${what}; write it as %5B or %5D`);
  const colon = text.indexOf(':');
  if (colon < 0) return { username: decodeUrlText(text, `the user of ${what}`) };
  return {
    username: decodeUrlText(text.slice(0, colon), `the user of ${what}`),
    password: decodeUrlText(text.slice(colon + 1), `the password of ${what}`),
  };
}

/** The "%" before a zone is written %25 (RFC 6874); alone it is understood too. */
function parseIPv6(text: string, what: string): string {
  const address = text.replace('%25', '%');
  if (isIPv6(address)) return address;
  throw refuseUrl(`${what} has brackets, but no IPv6 address in them`);
}

function addressText(hostname: string): string {
  return isIPv6(hostname) ? `[${hostname.replace('%', '%25')}]` : hostname;
}

function parsePort(text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined;
  return checkPort(/^\d{1,5}$/.test(text) ? Number(text) : NaN, what);
}

function checkPort(port: number, what: string): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65535) return port;
  throw refuseUrl(`the port of ${what} must be a whole number from 1 to 65535`);
}

function optional(value: unknown, what: string): string | undefined {
  return value === undefined || value === null ? undefined : checkUrlPart(value, what);
}
