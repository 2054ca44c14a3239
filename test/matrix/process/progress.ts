import type { MatrixResult } from './matrix-case.js';

/** Tells on a terminal, a line for each run, how far the matrix is. */
export class Progress {
  readonly #total: number;
  readonly #print: (line: string) => void;
  readonly #startedAt = performance.now();
  #done = 0;

  constructor(total: number, print: (line: string) => void) {
    this.#total = total;
    this.#print = print;
  }

  begun(): void {
    this.#print(`${this.#total} runs`);
  }

  done({ flow, party, way, step, message, outcome, problems }: MatrixResult): void {
    this.#done += 1;
    const result = problems.length === 0 ? outcome : `PROBLEMS: ${problems.join('; ')}`;
    const what = `${flow}, ${party}, ${way} at ${step} (${message ?? 'it was over before'}): ${result}`;
    this.#print(`${this.#done} of ${this.#total}  ${what}; ${this.#left()} left`);
  }

  #left(): string {
    const seconds = ((performance.now() - this.#startedAt) / this.#done / 1000) * (this.#total - this.#done);
    return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
  }
}
