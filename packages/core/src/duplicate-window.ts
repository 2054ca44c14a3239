/**
 * Remembers the last ids, at least `size` of them and at most twice as many, in two generations: no list to shift, no
 * time stamps, memory bounded.
 */
export class DuplicateWindow {
  readonly #size: number;
  #young = new Set<string>();
  #old = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  add(id: string): void {
    if (this.#size === 0) return;
    this.#young.add(id);
    if (this.#young.size < this.#size) return;
    this.#old = this.#young;
    this.#young = new Set();
  }
}
