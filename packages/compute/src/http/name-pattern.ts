/** One character of a pattern. */
interface Piece {
  /** Undefined: any character. */
  readonly letter: string | undefined;
  /** As often as it likes, also not at all. */
  readonly isMany: boolean;
}

const MARKS = new Set('()[]{}|+?^$');

/**
 * The part of regular expressions by which names are looked for: text, `.`, `*` after one of these, `^` and `$` at the ends, and
 * `\` before what is meant as itself. Takes as long as the lengths of name and pattern multiplied, whatever the pattern.
 * @returns undefined for any other expression
 */
export function namePattern(pattern: string): ((name: string) => boolean) | undefined {
  const isFromStart = pattern.startsWith('^');
  const isToEnd = /(?<!\\)(?:\\\\)*\$$/.test(pattern);
  const pieces = piecesOf(pattern.slice(isFromStart ? 1 : 0, isToEnd ? -1 : undefined));
  if (!pieces) return undefined;
  const anything: Piece = { letter: undefined, isMany: true };
  const whole = [...(isFromStart ? [] : [anything]), ...pieces, ...(isToEnd ? [] : [anything])];
  return (name) => fits(whole, name);
}

function piecesOf(text: string): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (sign === '*') {
      const before = pieces.pop();
      if (before?.isMany !== false) return undefined;
      pieces.push({ ...before, isMany: true });
    } else if (sign === '\\') {
      at += 1;
      if (!/^[^a-zA-Z0-9]$/.test(text.charAt(at))) return undefined;
      pieces.push({ letter: text.charAt(at), isMany: false });
    } else if (MARKS.has(sign)) {
      return undefined;
    } else {
      pieces.push({ letter: sign === '.' ? undefined : sign, isMany: false });
    }
  }
  return pieces;
}

/** Keeps, letter by letter, all the places in the pattern at which one can be: 1 for each. */
function fits(pieces: readonly Piece[], name: string): boolean {
  let places = new Uint8Array(pieces.length + 1);
  places[0] = 1;
  reach(pieces, places);
  for (const letter of name) {
    const next = new Uint8Array(places.length);
    for (let place = 0; place < pieces.length; place += 1) {
      const piece = places[place] === 1 ? pieces[place] : undefined;
      if (piece && (piece.letter ?? letter) === letter) next[piece.isMany ? place : place + 1] = 1;
    }
    places = next;
    reach(pieces, places);
  }
  return places[pieces.length] === 1;
}

function reach(pieces: readonly Piece[], places: Uint8Array): void {
  for (let place = 0; place < pieces.length; place += 1) {
    if (places[place] === 1 && pieces[place]?.isMany) places[place + 1] = 1;
  }
}
