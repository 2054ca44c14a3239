import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What a page sends with each request that changes something: no form, and no other site's page, can. */
export const PAGE_HEADER = 'x-ebbgate-page';

const COOKIE = 'ebbgate_session';
const ID = /^[\w-]{43}$/;
/** So many are remembered; the one that was used longest ago is forgotten first. */
const REMEMBERED = 1_000;
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Who is signed in on the page: browsers have a cookie that no script can read and no other site can have sent, and this
 * process the token that belongs to it. They end with the process.
 */
export class Sessions {
  readonly #tokens = new Map<string, string>();

  /** Begins one. @returns the header that sets its cookie */
  begin(token: string): string {
    const id = randomBytes(32).toString('base64url');
    this.#tokens.set(id, token);
    if (this.#tokens.size > REMEMBERED) this.#forgetOldest();
    return cookie(id);
  }

  /** Ends that of a request, if there is one. @returns the header that takes its cookie away */
  end(headers: IncomingHttpHeaders): string {
    this.#tokens.delete(idIn(headers) ?? '');
    return `${cookie('')}; Max-Age=0`;
  }

  /** The token of the session that a request belongs to; undefined: of none, or it does not come from the page. */
  tokenOf(method: string, headers: IncomingHttpHeaders): string | undefined {
    if (!SAFE.has(method) && headers[PAGE_HEADER] === undefined) return undefined;
    const id = idIn(headers);
    const token = this.#tokens.get(id ?? '');
    if (id === undefined || token === undefined) return undefined;
    this.#tokens.delete(id); // it is the newest from here on
    this.#tokens.set(id, token);
    return token;
  }

  #forgetOldest(): void {
    const [oldest] = this.#tokens.keys();
    if (oldest !== undefined) this.#tokens.delete(oldest);
  }
}

function cookie(id: string): string {
  return `${COOKIE}=${id}; Path=/; HttpOnly; SameSite=Strict`;
}

function idIn({ cookie: text = '' }: IncomingHttpHeaders): string | undefined {
  const pairs = text.split(';').map((pair) => pair.trim());
  const id = pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
  return id !== undefined && ID.test(id) ? id : undefined;
}
