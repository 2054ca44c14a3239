import { Worker } from 'node:worker_threads';
import { PATIENCE } from '../patience.js';
import { InputInHand } from './input-in-hand.js';
import type { FuzzCounts, FuzzOptions, FuzzReport } from './target.js';

/** What the thread of a search is given. */
export interface SearchOrder {
  readonly file: string;
  readonly input: SharedArrayBuffer;
  readonly seconds: number;
  readonly seed: number;
}

/** What it says: how far it is, or how it ended. */
type Said = FuzzCounts | { readonly report: FuzzReport };

const LONGEST_MS = 10_000;
/** What takes more memory than this is a finding. */
const MOST_MEGABYTES = 128;
const WORKER = new URL('search-worker.js', import.meta.url);

/**
 * Searches in a thread of its own for an input with which something of a target does not hold, until the time is over.
 * An input that does not end, or ends the thread, is such a finding, too.
 *
 * @param file - the URL of a compiled file that exports a `target`
 */
export function fuzz(file: URL, options: FuzzOptions): Promise<FuzzReport> {
  const { seconds, seed, longestMs = LONGEST_MS, onProgress } = options;
  const inHand = new InputInHand();
  const order: SearchOrder = { file: file.href, input: inHand.memory, seconds, seed };
  const worker = new Worker(WORKER, {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
  let counts: FuzzCounts = { runs: 0, kept: 0, reached: 0 };
  return new Promise((resolve) => {
    const end = (report: FuzzReport): void => {
      clearInterval(watch);
      void worker.terminate();
      resolve(report);
    };
    const found = (why: string): void => {
      end({ ...counts, runs: inHand.number, finding: { input: inHand.get(), why } });
    };
    const watch = watchOver(inHand, longestMs * PATIENCE, () => found('It does not end'));
    worker.on('message', (said: Said) => {
      if ('report' in said) end(said.report);
      else onProgress?.((counts = said));
    });
    worker.on('error', (error) =>
      found(error instanceof Error ? (error.stack ?? error.message) : 'It threw'),
    );
    worker.on('exit', (code) => found(`It ended the thread with code ${String(code)}`));
  });
}

/** Calls back when the input under way has been the same one for so long. */
function watchOver(inHand: InputInHand, longestMs: number, onStuck: () => void): NodeJS.Timeout {
  let last = inHand.number;
  return setInterval(() => {
    const now = inHand.number;
    if (now === last && now > 0) onStuck();
    last = now;
  }, longestMs);
}
