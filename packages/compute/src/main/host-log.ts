import type { Logger } from '@ebbgate/core';

/**
 * The log of a host of an all-in-one. From its being killed by the operator to its next start all that it says is told at
 * the level of debug: an end that was ordered is no fault, and one line tells of it.
 */
export class HostLog implements Logger {
  readonly #logger: Logger;
  #isKilled = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The host is killed, in the middle of these tasks. */
  killed(host: string, tasks: readonly { readonly name: string }[]): void {
    const names = tasks.map(({ name }) => name);
    this.#logger.info({ host, tasks: names }, `Host ${host} is killed; its end is logged at debug`);
    this.#isKilled = true;
  }

  /** A new run begins. */
  starts(): void {
    this.#isKilled = false;
  }

  debug(fields: object, message: string): void {
    this.#logger.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#say('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#say('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#say('error', fields, message);
  }

  #say(level: 'info' | 'warn' | 'error', fields: object, message: string): void {
    this.#logger[this.#isKilled ? 'debug' : level](fields, message);
  }
}
