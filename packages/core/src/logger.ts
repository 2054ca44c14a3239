import { types } from 'node:util';
import { ConfigurationError } from './errors.js';

/** The four methods that we call; pino fits as it is. Objects come first, as in pino. */
export interface Logger {
  /** What helps to find a fault; ids and sizes only. */
  debug(fields: object, message: string): void;
  /** What an operator wants to see once. */
  info(fields: object, message: string): void;
  /** Something is wrong, and the work goes on. */
  warn(fields: object, message: string): void;
  /** Something has failed that nobody else is told of. */
  error(fields: object, message: string): void;
}

const nothing = (): void => undefined;

/** Logs nothing: the default of every library part. */
export const silentLogger: Logger = Object.freeze({
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
});

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const guarded = new WeakSet<Logger>();

/**
 * The same logger, but one that throws or rejects harms nobody: a line is lost, the work goes on (AMQP-06).
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) naming the method that it lacks.
 */
export function checkLogger(logger: Logger): Logger {
  if (guarded.has(logger)) return logger;
  const given = logger as Partial<Logger> | null; // what a caller without types gave
  const missing = LEVELS.find((level) => typeof given?.[level] !== 'function');
  if (missing !== undefined) throw new ConfigurationError(`logger has no method "${missing}"`);
  const harmless = guard(logger);
  guarded.add(harmless);
  return harmless;
}

/** Async ones return promises, whatever the type says. */
type Log = (fields: object, message: string) => unknown;

function guard(logger: Logger): Logger {
  const given: Readonly<Record<keyof Logger, Log>> = logger;
  const guardOne =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      try {
        const result = given[level](fields, message);
        if (types.isPromise(result)) result.catch(() => undefined);
      } catch {
        // Nobody is left to be told.
      }
    };
  return Object.freeze({
    debug: guardOne('debug'),
    info: guardOne('info'),
    warn: guardOne('warn'),
    error: guardOne('error'),
  });
}
