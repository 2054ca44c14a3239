const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The shortest integer that may be beyond 2^53. */
const LONG = 16;
const NEGATIVE_ZERO = /-0(?=[\s,\]}]|$)/;

/** Does the text open more arrays and objects within each other? Looks at brackets only: the text may be no JSON. */
export function isDeeperThan(text: string, maxDepth: number): boolean {
  // Each level takes two characters. What is too short to close all its levels is refused when it is read.
  if (text.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return false;
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (code === 0x5d || code === 0x7d) {
      depth -= 1;
    }
  }
  return false;
}

/** Where the quote is that ends the string which begins at `begin`; -1 when there is none. */
export function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}

/**
 * May `JSON.parse` read a number in the text otherwise than its writer meant: an integer beyond 2^53, or the integer
 * -0? True for some texts without one, as it does not tell what is inside of strings.
 */
export function mayBeInexact(text: string): boolean {
  return hasLongInteger(text) || (text.includes('-0') && NEGATIVE_ZERO.test(text));
}

/** Looks at every 16th character, as no run of 16 digits fits between two of them. */
export function hasLongInteger(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let begin = at;
    while (begin > 0 && isDigit(text.charCodeAt(begin - 1))) begin -= 1;
    while (isDigit(text.charCodeAt(at + 1))) at += 1;
    if (at - begin >= LONG - 1 && canBeginNumber(text, begin)) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Fractions are preceded by a point, names and text by something else. */
function canBeginNumber(text: string, at: number): boolean {
  return at === 0 || '-:,[ \t\n\r'.includes(text.charAt(at - 1));
}
