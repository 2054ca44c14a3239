import { showAs } from './inspection.js';
import { checkUrlPart, decodeUrlText, encodeUrlText, refuseUrl } from './url-text.js';

/** Options whose value is not printed. */
const SECRET_NAME = /pass|pwd|secret|token|key|cred|auth/i;

/** The options of a URL, by name. Inspection shows `***` for the values of those that may be secret. */
export class TransportQuery extends Map<string, string> {
  static {
    showAs(
      TransportQuery,
      (query) => new Map([...query].map(([name, value]) => [name, SECRET_NAME.test(name) ? '***' : value])),
    );
  }

  /** As `toString()`: without secrets. */
  toJSON(): string {
    return formatQuery(this, () => '***');
  }
}

/**
 * Reads `a=1&b=2`, "+" being a blank. Values of the same name are joined by commas and empty ones are as good as
 * absent, both as in oslo.messaging.
 */
export function parseQuery(text: string): TransportQuery {
  const query = new TransportQuery();
  for (const [index, item] of text.split('&').entries()) {
    if (item === '') continue;
    const what = `option ${index + 1} of the query`;
    const equals = item.indexOf('=');
    if (equals < 0) throw refuseUrl(`${what} has no "="; write name=value`);
    const name = decodeUrlText(item.slice(0, equals).replaceAll('+', ' '), what);
    if (name === '') throw refuseUrl(`${what} has no name`);
    const value = decodeUrlText(item.slice(equals + 1).replaceAll('+', ' '), what);
    const before = query.get(name);
    if (value !== '') query.set(name, before === undefined ? value : `${before},${value}`);
  }
  return query;
}

/** Checks options given as values. Empty ones are as good as absent. */
export function queryOf(options: Iterable<readonly [string, string]>): TransportQuery {
  const query = new TransportQuery();
  for (const [name, value] of options) {
    if (checkUrlPart(name, 'the name of an option') === '') throw refuseUrl('an option has no name');
    if (checkUrlPart(value, 'the value of an option') !== '') query.set(name, value);
  }
  return query;
}

/** @param secret What to print for the value of an option that may be secret. */
export function formatQuery(query: ReadonlyMap<string, string>, secret: (value: string) => string): string {
  return [...query]
    .map(([name, value]) => {
      const shown = SECRET_NAME.test(name) ? secret(value) : encodeUrlText(value);
      return `${encodeUrlText(name)}=${shown}`;
    })
    .join('&');
}
