import { RecordNotFoundError } from '../errors.js';

/** What there is; undefined when there is none (`ERR_NOT_FOUND`). */
export async function orUndefined<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof RecordNotFoundError) return undefined;
    throw error;
  }
}
