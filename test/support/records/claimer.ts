import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ClaimerOrder, ClaimerWord } from '../../fixtures/processes/claimer.js';

const SCRIPT = join(import.meta.dirname, '../../fixtures/processes/claimer.js');
const LIFE_MS = 20_000;

/** Another process at the same database. */
export class Claimer {
  readonly words: ClaimerWord[] = [];
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** @param url - of the database, which must exist */
  constructor(url: string) {
    this.#child = fork(SCRIPT, [url], { timeout: LIFE_MS, killSignal: 'SIGKILL' });
    this.#child.on('message', (word: ClaimerWord) => {
      this.words.push(word);
      this.#wake();
    });
    this.ended = once(this.#child, 'exit').finally(() => {
      this.#over = true;
      this.#wake();
    });
  }

  /** Resolves with the first word, so far or to come, of which this is so. */
  async word<Kind extends ClaimerWord['kind']>(
    kind: Kind,
    isIt: (word: Extract<ClaimerWord, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<ClaimerWord, { kind: Kind }>> {
    for (;;) {
      const its = this.words.filter((one): one is Extract<ClaimerWord, { kind: Kind }> => one.kind === kind);
      const found = its.find(isIt);
      if (found) return found;
      if (this.#over) throw new Error(`It ended and told only: ${JSON.stringify(this.words.slice(-5))}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  order(order: ClaimerOrder): void {
    this.#child.send(order);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
