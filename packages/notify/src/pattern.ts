import { ConfigurationError, redactedCause } from '@ebbgate/core';
import { RE2JS } from 're2js';

/** A regular expression that takes time in proportion to its text, whatever it is: rules come from configuration files. */
export class Pattern {
  readonly #compiled: RE2JS;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for what RE2 cannot read: a look-around or a back-reference, say */
  constructor(source: string) {
    try {
      this.#compiled = RE2JS.compile(source);
    } catch (error) {
      throw new ConfigurationError(`"${source}" is no regular expression of RE2`, {
        cause: redactedCause(error),
      });
    }
  }

  /** Does the text begin with a match? */
  matchesStart(text: string): boolean {
    return this.#compiled.matcher(text).lookingAt();
  }

  /** Is the text as a whole a match? */
  matchesAll(text: string): boolean {
    return this.#compiled.matcher(text).matches();
  }
}

/** A pattern of the shell: `*`, `?`, `[…]` and `[!…]`, as Python's `fnmatch` reads it. */
export function shellPattern(source: string): Pattern {
  const expression = source.replace(/\[!?\]?[^\]]*\]|[^]/gu, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.length > 1 && part.startsWith('[')) return characterSet(part.slice(1, -1));
    return RE2JS.quote(part);
  });
  return new Pattern(`(?s)${expression}`);
}

function characterSet(inside: string): string {
  const escaped = inside.replaceAll('\\', '\\\\');
  return escaped.startsWith('!') ? `[^${escaped.slice(1)}]` : `[${escaped.replace(/^\^/, '\\^')}]`;
}
