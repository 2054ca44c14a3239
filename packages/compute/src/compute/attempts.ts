import type { Logger } from '@ebbgate/core';
import { UnexpectedStateError } from '../errors.js';

/** Steps of cleaning up that must all be tried: one that fails is logged and keeps no other from being taken. */
export class Attempts {
  readonly #logger: Logger;
  readonly #fields: Readonly<Record<string, unknown>>;

  /** @param fields - what is said in the log of each failure */
  constructor(logger: Logger, fields: Readonly<Record<string, unknown>>) {
    this.#logger = logger;
    this.#fields = fields;
  }

  /** Takes a step; false when it failed. */
  async make(what: string, step: () => Promise<unknown>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      const fields = { ...this.#fields, err: error, step: what };
      // A delete, say, has taken the instance over: it is not ours to clean up any more.
      if (error instanceof UnexpectedStateError)
        this.#logger.info(fields, 'Somebody else has changed it meanwhile');
      else this.#logger.error(fields, 'A step of cleaning up failed');
      return false;
    }
  }
}
