/** A request on its way to a service. */
export interface SeenMessage {
  readonly topic: string;
  /** Null: to whichever server of the topic is free. */
  readonly host: string | null;
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** All of it, with its context. */
  readonly text: string;
}

/** Tells of every request of a cloud, in the order in which the broker has them. */
export class BrokerTap {
  readonly #end: () => unknown;
  readonly #lookers = new Set<(message: SeenMessage) => void>();

  /** @param end - ends what {@link take} is called by */
  constructor(end: () => unknown) {
    this.#end = end;
  }

  /** Is told of every message from now on; gives what ends that. */
  look(looker: (message: SeenMessage) => void): () => void {
    this.#lookers.add(looker);
    return () => void this.#lookers.delete(looker);
  }

  /** @param body - the envelope, as our own daemons write it */
  take(topic: string, host: string | null, body: string): void {
    const envelope = JSON.parse(body) as { readonly 'oslo.message': string }; // of our own daemons
    const text = envelope['oslo.message'];
    const { method, args } = JSON.parse(text) as Pick<SeenMessage, 'method' | 'args'>;
    for (const looker of this.#lookers) looker({ topic, host, method, args, text });
  }

  async close(): Promise<void> {
    await this.#end();
  }
}
