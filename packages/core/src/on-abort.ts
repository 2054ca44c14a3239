/** The handlers of one signal, behind its one listener. */
class Watch {
  readonly #signal: AbortSignal;
  readonly #handlers = new Set<{ readonly handler: () => void }>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(handler: () => void): () => void {
    if (this.#handlers.size === 0) this.#signal.addEventListener('abort', this.#onAbort);
    const entry = { handler };
    this.#handlers.add(entry);
    return () => {
      if (this.#handlers.delete(entry) && this.#handlers.size === 0) this.#leave();
    };
  }

  readonly #onAbort = (): void => {
    this.#leave();
    for (const entry of [...this.#handlers]) if (this.#handlers.delete(entry)) entry.handler();
  };

  #leave(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `handler` once, when `signal` aborts. However many handlers a signal has, it has one listener of ours, and none
 * when they have all left: Node warns of a leak at the eleventh (CORE-10). A handler must not throw.
 *
 * @returns takes the handler back
 */
export function onAbort(signal: AbortSignal, handler: () => void): () => void {
  let watch = watches.get(signal);
  if (!watch) watches.set(signal, (watch = new Watch(signal)));
  return watch.add(handler);
}
