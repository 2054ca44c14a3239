import type { AmqpArguments, SourceQueue } from '../topology.js';

const OFFSET = 'x-stream-offset';

/**
 * Where a server goes on in its fanout stream: after a reconnect behind the last message that it has seen, after a cancel
 * by the broker where it would begin anew (`wire.md` 1.2).
 */
export class StreamOffsets {
  #next: number | undefined;

  /** The arguments with which a queue is consumed now. */
  startOf({ isStream, consumeArguments }: SourceQueue): AmqpArguments {
    if (!isStream || this.#next === undefined) return consumeArguments;
    return { ...consumeArguments, [OFFSET]: { '!': 'long', value: this.#next } };
  }

  seen({ isStream }: SourceQueue, headers: unknown): void {
    if (!isStream || typeof headers !== 'object' || headers === null || !Object.hasOwn(headers, OFFSET))
      return;
    const offset = (headers as Readonly<Record<string, unknown>>)[OFFSET]; // an own member, as was just checked
    if (typeof offset === 'number' && Number.isSafeInteger(offset)) this.#next = offset + 1;
  }

  cancelled({ isStream }: SourceQueue): void {
    if (isStream) this.#next = undefined;
  }
}
