import type { JobEvent, View } from './job-events.js';

/** One JSON object a line: `{ "atMs": …, "kind": …, … }`; the last one is the verdict, unless a signal ended the job. */
export class JsonView implements View {
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  show(atMs: number, event: JobEvent): void {
    this.#write(`${JSON.stringify({ atMs: Math.round(atMs), ...event })}\n`);
  }

  end(): void {
    // Every line is out already.
  }
}
