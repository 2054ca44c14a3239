import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { SoakRecord } from './records.js';

/** How many records of each kind there are so far, by reading on where it was before. */
export class Tally {
  readonly #offsets = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  of(is: SoakRecord['is']): number {
    return this.#counts.get(is) ?? 0;
  }

  /** Reads on in these files. */
  read(files: readonly string[]): void {
    for (const file of files)
      for (const [, is = ''] of this.#news(file).matchAll(/"is":"(\w+)"/g))
        this.#counts.set(is, (this.#counts.get(is) ?? 0) + 1);
  }

  /** Whole lines. */
  #news(path: string): string {
    const file = openSync(path, 'a+');
    try {
      const from = this.#offsets.get(path) ?? 0;
      const bytes = Buffer.alloc(fstatSync(file).size - from);
      readSync(file, bytes, 0, bytes.length, from);
      const end = bytes.lastIndexOf('\n') + 1;
      this.#offsets.set(path, from + end);
      return bytes.toString('utf8', 0, end);
    } finally {
      closeSync(file);
    }
  }
}
