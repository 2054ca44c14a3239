import { SerializationError } from './errors.js';

/** Longest piece of a name that is shown in a path. */
const NAME_SHOWN = 60;
/** Longest path that is shown. */
const PATH_SHOWN = 400;

/**
 * Why a value cannot be sent, and where it is: filled from the inside out as the copy unwinds, so that a copy which
 * succeeds pays nothing for it.
 */
export class Refusal {
  readonly #reason: string;
  readonly #cause: unknown;
  /** Innermost first. */
  readonly #keys: (string | number | undefined)[] = [];
  readonly #holders: object[] = [];

  constructor(reason: string, cause?: unknown) {
    this.#reason = reason;
    this.#cause = cause;
  }

  /** `holder[key]` is where the refused value was found; without a key it stands in the holder's place. */
  isIn(holder: object, key?: string | number): void {
    this.#holders.push(holder);
    this.#keys.push(key);
  }

  /** @param name What the value as a whole is called, such as `args`; may be empty. */
  toError(name: string): SerializationError {
    const keys = this.#keys.toReversed();
    const loop = this.#loop();
    const path = pathText(name, loop === undefined ? keys : keys.slice(0, loop.end));
    const reason =
      loop === undefined
        ? this.#reason
        : `it refers back to ${shown(pathText(name, keys.slice(0, loop.begin)), 'the whole')}, so it has no end; send an id in its place`;
    return new SerializationError(`Cannot send ${shown(path, 'the value')}: ${reason}`, {
      path,
      cause: this.#cause,
    });
  }

  /** A value that holds itself runs into a limit; then the same holder is on the way to it twice. */
  #loop(): { begin: number; end: number } | undefined {
    const seen = new Map<object, number>();
    for (const [end, holder] of this.#holders.toReversed().entries()) {
      const begin = seen.get(holder);
      if (begin !== undefined) return { begin, end };
      seen.set(holder, end);
    }
    return undefined;
  }
}

function shown(path: string, instead: string): string {
  return path === '' ? instead : path;
}

/** `args.disk[3]["odd name"]` */
function pathText(name: string, keys: readonly (string | number | undefined)[]): string {
  const path = keys.reduce<string>((before, key) => before + keyText(key, before === ''), name);
  return path.length <= PATH_SHOWN ? path : `${path.slice(0, PATH_SHOWN)}…`;
}

function keyText(key: string | number | undefined, first: boolean): string {
  if (key === undefined) return '';
  if (typeof key === 'number') return `[${key}]`;
  const text = key.length <= NAME_SHOWN ? key : `${key.slice(0, NAME_SHOWN)}…`;
  if (!/^[A-Za-z_$][\w$]*$/.test(text)) return `[${JSON.stringify(text)}]`;
  return first ? text : `.${text}`;
}
