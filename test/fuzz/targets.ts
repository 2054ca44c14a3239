/** All targets, by their names: each is the file of that name beside this one. */
export const TARGETS = [
  'transport-url',
  'envelope',
  'failure',
  'version',
  'filter',
  'redis-entry',
  'amqp-frames',
] as const;

/** Where a target is, compiled. */
export function targetFile(name: string): URL {
  return new URL(`${name}.js`, import.meta.url);
}
