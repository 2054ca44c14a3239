import type { MessageHandler, WireMessage } from '@ebbgate/core';
import { deferred, type Deferred } from '../../../support/deferred.js';

/** A handler whose every run lasts until the test ends it. Requests are the ids of the messages. */
export class GatedHandler implements MessageHandler<string> {
  /** Ids in the order in which their handlers began. */
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  readonly #gates = new Map<string, Deferred<undefined>>();

  get running(): number {
    return this.#gates.size;
  }

  read(message: WireMessage): string {
    return message.id ?? 'none';
  }

  idOf(id: string): string {
    return id;
  }

  async run(id: string): Promise<void> {
    this.begun.push(id);
    const gate = deferred<undefined>();
    this.#gates.set(id, gate);
    try {
      await gate.promise;
    } finally {
      this.#gates.delete(id);
      this.ended.push(id);
    }
  }

  /** Ends the run of one message, or of the one that began first. */
  end(id: string | undefined = [...this.#gates.keys()][0], error?: Error): void {
    const gate = id === undefined ? undefined : this.#gates.get(id);
    if (!gate) throw new Error(`No handler runs for ${String(id)}`);
    if (error) gate.reject(error);
    else gate.resolve(undefined);
  }

  endAll(): void {
    for (const gate of this.#gates.values()) gate.resolve(undefined);
  }
}
