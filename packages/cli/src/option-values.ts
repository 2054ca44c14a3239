import { InvalidArgumentError, Option } from 'commander';

/** Node's timers fire at once when given more. */
const MOST_SECONDS = 2_147_483;

/** A time in seconds, as milliseconds. */
export function seconds(text: string): number {
  const ms = Number(text) * 1000;
  if (/^\d+(\.\d+)?$/.test(text) && ms <= MOST_SECONDS * 1000) return ms;
  throw new InvalidArgumentError(
    `It must be a number of seconds from 0 to ${MOST_SECONDS}, without a unit: 2.5`,
  );
}

/** A time in seconds that is more than none, as milliseconds. */
export function someSeconds(text: string): number {
  const ms = seconds(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError('It must be more than 0 seconds.');
}

/** A parser of whole numbers within bounds. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}.`);
  };
}

/** For options that may be given several times. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** An option in seconds with a default, which the help shows in seconds too. */
export function secondsOption(
  flags: string,
  description: string,
  defaultMs: number,
  parse: (text: string) => number,
): Option {
  return new Option(flags, description).argParser(parse).default(defaultMs, String(defaultMs / 1000));
}
