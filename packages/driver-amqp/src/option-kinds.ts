/** How one option is read. Undefined from either reader means that the value is not one of the kind. */
export interface OptionKind<Value> {
  /** What would be right, for errors: `a whole number from 1 to 10`. */
  readonly wanted: string;
  readonly fallback: Value;
  /** From the query of a URL, by oslo.config's rules for the type. */
  fromText(text: string): Value | undefined;
  /** From the constructor: of that very type, as `"false"` for a boolean would be taken for true elsewhere. */
  fromValue(value: unknown): Value | undefined;
}

const TRUE: ReadonlySet<string> = new Set(['true', '1', 'on', 'yes']);
const FALSE: ReadonlySet<string> = new Set(['false', '0', 'off', 'no']);

/** `true`, `1`, `on`, `yes` or `false`, `0`, `off`, `no`, in any case. */
export function flag(fallback: boolean): OptionKind<boolean> {
  return {
    wanted: 'true or false',
    fallback,
    fromText(text) {
      const word = text.toLowerCase();
      if (TRUE.has(word)) return true;
      return FALSE.has(word) ? false : undefined;
    },
    fromValue: (value) => (typeof value === 'boolean' ? value : undefined),
  };
}

const WHOLE = /^\s*[+-]?\d+\s*$/;
const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i;

function numbers(
  fallback: number,
  [min, max]: readonly [number, number],
  form: { readonly text: RegExp; readonly name: string; readonly fits: (value: number) => boolean },
): OptionKind<number> {
  const inRange = (value: number): number | undefined =>
    form.fits(value) && value >= min && value <= max ? value : undefined;
  return {
    wanted: `${form.name} from ${min} to ${max}`,
    fallback,
    fromText: (text) => (form.text.test(text) ? inRange(Number(text)) : undefined),
    fromValue: (value) => (typeof value === 'number' ? inRange(value) : undefined),
  };
}

/** A whole number within the range, both ends included. */
export function whole(fallback: number, range: readonly [number, number]): OptionKind<number> {
  return numbers(fallback, range, { text: WHOLE, name: 'a whole number', fits: Number.isSafeInteger });
}

/** A number, fractions too, within the range. Python's `inf` and `nan` are none. */
export function decimal(fallback: number, range: readonly [number, number]): OptionKind<number> {
  return numbers(fallback, range, { text: DECIMAL, name: 'a number', fits: Number.isFinite });
}

/** One of some words, in exactly that spelling. */
export function choice<Word extends string>(fallback: Word, words: readonly Word[]): OptionKind<Word> {
  const find = (value: unknown): Word | undefined => words.find((word) => word === value);
  const last = words.at(-1) ?? '';
  return {
    wanted: words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${last}` : last,
    fallback,
    fromText: find,
    fromValue: find,
  };
}

/** Any text that passes the test. The empty text is as good as absent and always passes. */
export function text(
  fallback: string,
  wanted: string,
  passes: (value: string) => boolean = () => true,
): OptionKind<string> {
  const check = (value: unknown): string | undefined =>
    typeof value === 'string' && (value === '' || passes(value)) ? value : undefined;
  return { wanted, fallback, fromText: check, fromValue: check };
}
