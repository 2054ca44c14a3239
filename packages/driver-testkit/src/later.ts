/** Work that a test waits for later: if it fails before, nobody calls that unhandled. */
export function later<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
