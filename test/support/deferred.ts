/** A promise and the two functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** What a promise rejects with. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw new TypeError('What was rejected with is no Error', { cause: error });
  }
  throw new Error('It was to reject, and resolved');
}

/** Lets everything run that is due now: microtasks, and what the in-memory broker has planned. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits, turn by turn, until something is so; the test's own time limit is the end of it. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}
