import { InvalidTransportUrlError } from './errors.js';

/** In a URL's own text these stand for something else, or are invisible: they must be percent-encoded. */
const RAW_REFUSED = /[\s\p{Cc}\p{Cs}#]/u;
/** What `encodeURIComponent` leaves although Python's `quote` does not. */
const LEFT_OVER = /[!'()*]/g;

/**
 * Refuses a transport URL. The message never holds any of its text: what looks like a host may be a piece of a
 * password that was not encoded.
 */
export function refuseUrl(reason: string): InvalidTransportUrlError {
  return new InvalidTransportUrlError(`The transport URL is not usable: ${reason}`);
}

/** Refuses a text that has characters which never stand in a URL for themselves. */
export function checkRawUrl(text: string): void {
  if (!RAW_REFUSED.test(text)) return;
  throw refuseUrl(
    'it has a blank, a control character, a lone surrogate or a "#" in it; write it percent-encoded ("#" as %23), or leave it out',
  );
}

/** Percent-encodes everything but letters, digits and `-._~`. The text must not hold lone surrogates. */
export function encodeUrlText(text: string): string {
  return encodeURIComponent(text).replace(
    LEFT_OVER,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** @param what Where the text stands, for the error: it must not be taken from the URL. */
export function decodeUrlText(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuseUrl(
      `${what} has a "%" that does not begin a percent-encoded UTF-8 character; write "%" as %25`,
    );
  }
}

/** Refuses a part that no URL can carry: lone surrogates have no UTF-8. */
export function checkUrlPart(value: unknown, what: string): string {
  if (typeof value !== 'string') throw refuseUrl(`${what} must be text, not ${typeof value}`);
  if (/\p{Cs}/u.test(value)) throw refuseUrl(`${what} has a lone surrogate in it, which is no character`);
  return value;
}
