// The thread of one search: what runs on for ever, or takes all memory, ends this and not who has asked.
import { parentPort, workerData } from 'node:worker_threads';
import { InputInHand } from './input-in-hand.js';
import { Search } from './search.js';
import type { FuzzTarget } from './target.js';
import type { SearchOrder } from './fuzz.js';

const { file, input, seconds, seed } = workerData as SearchOrder; // as fuzz.ts has made it
const inHand = new InputInHand(input);
const search = new Search(
  { seconds, seed, onProgress: (counts) => parentPort?.postMessage(counts) },
  (bytes) => inHand.set(bytes),
);
const report = await search.run(async () => {
  const { target } = (await import(file)) as { target: FuzzTarget }; // every such file exports one
  return target;
});
parentPort?.postMessage({ report });
