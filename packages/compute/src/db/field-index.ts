/** Keys of records by the value of one field: who asks for that value does not look at all records. */
export class FieldIndex {
  readonly #keys = new Map<unknown, Set<string>>();

  /** The keys of the records that have this value. */
  of(value: unknown): Iterable<string> {
    return this.#keys.get(value) ?? [];
  }

  add(key: string, value: unknown): void {
    const keys = this.#keys.get(value);
    if (keys) keys.add(key);
    else this.#keys.set(value, new Set([key]));
  }

  remove(key: string, value: unknown): void {
    const keys = this.#keys.get(value);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(value);
  }
}
