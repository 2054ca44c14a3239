import { writeFileSync } from 'node:fs';
import type { Hook, Runner, Suite, Test } from 'mocha';
import { stretchLimits } from './patience.js';

/** What one run came to; the shape of the file named by `EBBGATE_TEST_COUNTS`. */
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

function summary(counts: Counts): string {
  const skipped = counts.skipped > 0 ? `, ${String(counts.skipped)} skipped` : '';
  return `${String(counts.passed)} passed, ${String(counts.failed)} failed${skipped}`;
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return `thrown: ${String(error)}`;
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by: ${describeError(error.cause)}`;
}

/**
 * A mocha reporter for logs: a line for each suite and each failure as they come, all failures with their stacks at
 * the end, and one closing line, `N passed, N failed`. With `EBBGATE_TEST_COUNTS` set, the counts go to the file it
 * names in place of the closing line, so that the caller can sum up several runs.
 */
export default class PlainReporter {
  readonly #total: Counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #failures: { title: string; error: unknown }[] = [];
  readonly #skipped: string[] = [];
  #suite: Counts & { startedMs: number } = { passed: 0, failed: 0, skipped: 0, startedMs: 0 };

  constructor(runner: Runner) {
    stretchLimits(runner);
    runner.on('suite', (suite) => {
      this.#onSuite(suite);
    });
    runner.on('suite end', (suite) => {
      this.#onSuiteEnd(suite);
    });
    runner.on('pass', () => {
      this.#count('passed');
    });
    runner.on('fail', (test, error: unknown) => {
      this.#onFail(test, error);
    });
    runner.on('pending', (test) => {
      this.#count('skipped');
      this.#skipped.push(test.fullTitle());
    });
    runner.once('end', () => {
      this.#onEnd();
    });
  }

  #count(outcome: keyof Counts): void {
    this.#total[outcome] += 1;
    this.#suite[outcome] += 1;
  }

  #onSuite(suite: Suite): void {
    if (suite.parent?.root !== true) return;
    this.#suite = { passed: 0, failed: 0, skipped: 0, startedMs: performance.now() };
  }

  #onSuiteEnd(suite: Suite): void {
    if (suite.parent?.root !== true) return;
    const tookMs = Math.round(performance.now() - this.#suite.startedMs);
    console.log(`${suite.title}: ${summary(this.#suite)} (${String(tookMs)} ms)`);
  }

  #onFail(test: Test | Hook, error: unknown): void {
    this.#count('failed');
    const title = test.fullTitle();
    this.#failures.push({ title, error });
    console.log(`FAILED: ${title}`);
  }

  #onEnd(): void {
    for (const title of this.#skipped) console.log(`skipped: ${title}`);
    this.#failures.forEach(({ title, error }, index) => {
      console.log(`\n${String(index + 1)}) ${title}\n${describeError(error)}`);
    });
    const countsFile = process.env['EBBGATE_TEST_COUNTS'];
    if (countsFile === undefined) console.log(`\n${summary(this.#total)}`);
    else writeFileSync(countsFile, JSON.stringify(this.#total));
  }
}
