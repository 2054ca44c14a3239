import { readFileSync } from 'node:fs';

const folder = new URL('../../../test/fixtures/oslo/', import.meta.url);

/** One table of `test/fixtures/oslo`, by its path without the ending: `vectors/targets`, `head/vectors/transport_urls`. */
export function readVectors(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`${path}.json`, folder), 'utf8'));
}
