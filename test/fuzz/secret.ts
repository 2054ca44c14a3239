import { inspect } from 'node:util';

/** Stands in seeds where a password does: nothing that is printed may have it. */
export const SECRET = 'hunter2';

/** All that a log could show of a value. */
export function shownOf(value: unknown): string {
  return inspect(value, { depth: 10, maxArrayLength: null, maxStringLength: null });
}

/** Throws if an error is none of the documented ones, or shows a piece of the input. */
export function checkRefusal(error: unknown, code: string): void {
  if (!(error instanceof Error)) throw new Error('Something was thrown that is no error');
  if (!('code' in error) || error.code !== code)
    throw new Error('An error that is not documented', { cause: error });
  if (shownOf(error).includes(SECRET))
    throw new Error('An error that shows what it refuses', { cause: error });
}
