/** A class of errors, ours or anybody's. */
export type ErrorClass = abstract new (...args: never[]) => unknown;

/**
 * Around an error that the author of a method counts with: the server tells it to the caller as it is, and logs it
 * at debug and not as a fault.
 */
export class ExpectedException extends Error {
  /** What the method threw, as it is sent to the caller. */
  readonly original: unknown;

  constructor(original: unknown) {
    super('An expected exception', { cause: original });
    this.name = 'ExpectedException';
    this.original = original;
  }
}

/**
 * The same method, but what it throws of these types (or of subclasses) is expected.
 *
 * @example
 * get = expectedExceptions([NotFoundError], (context: RequestContext, { id }: { id: string }) => find(id));
 *
 * @throws TypeError when `types` holds anything but classes
 */
export function expectedExceptions<This, Args extends unknown[], Result>(
  types: readonly ErrorClass[],
  method: (this: This, ...args: Args) => Result,
): (this: This, ...args: Args) => Result {
  for (const type of types) {
    if (typeof type !== 'function') throw new TypeError('expectedExceptions takes an array of error classes');
  }
  const wrap = (error: unknown): unknown =>
    types.some((type) => error instanceof type) ? new ExpectedException(error) : error;
  return function expecting(this: This, ...args: Args): Result {
    let result: Result;
    try {
      result = method.apply(this, args);
    } catch (error) {
      throw wrap(error);
    }
    if (!(result instanceof Promise)) return result;
    const followed = result.catch((error: unknown) => {
      throw wrap(error);
    });
    return followed as Result; // a promise of the same: only what it rejects with differs
  };
}

/** What the method threw, and whether its author counted with it. */
export function unwrapExpected(error: unknown): { readonly error: unknown; readonly expected: boolean } {
  return error instanceof ExpectedException
    ? { error: error.original, expected: true }
    : { error, expected: false };
}
