import type { Channel } from 'amqplib';

/**
 * Settles the deliveries of one channel. What is accepted in one turn of the event loop is acknowledged at its end, an
 * unbroken run of accepted tags by one frame; only then do the handlers start. Bound to its channel: after its loss
 * nothing is written, and nothing counts as accepted.
 */
export class Acknowledger {
  readonly #channel: Channel;
  readonly #probe: string | undefined;
  /** Every tag up to this one is settled. */
  #settledUpTo = 0;
  /** Settled beyond it, in whatever order. */
  readonly #settledAhead = new Set<number>();
  #accepted: number[] = [];
  #flushing: Promise<boolean> | undefined;
  #alive = true;

  /** @param probe - a queue to ask for after each acknowledgement: its answer says that the broker has it */
  constructor(channel: Channel, probe?: string) {
    this.#channel = channel;
    this.#probe = probe;
  }

  /** The channel is gone. */
  end(): void {
    this.#alive = false;
  }

  /** Resolves when the acknowledgement is written (or confirmed): true, or false when the channel was gone first. */
  accept(tag: number): Promise<boolean> | boolean {
    if (!this.#alive) return false;
    this.#accepted.push(tag);
    this.#flushing ??= Promise.resolve().then(() => (this.flush() ? this.#confirmed() : false));
    return this.#flushing;
  }

  /** Gives a message back to its queue. */
  release(tag: number): void {
    this.#refuse(tag, true);
  }

  /** Drops a message; the broker may keep it as a dead letter. */
  reject(tag: number): void {
    this.#refuse(tag, false);
  }

  /** Writes what is accepted and not written yet. */
  flush(): boolean {
    this.#flushing = undefined;
    const tags = this.#accepted;
    this.#accepted = [];
    if (!this.#alive) return false;
    tags.sort((a, b) => a - b);
    try {
      this.#write(tags);
      return true;
    } catch {
      this.#alive = false; // amqplib throws when the channel is closing
      return false;
    }
  }

  /** With a probe, resolves when the broker has said that it has processed all that was written before. */
  #confirmed(): Promise<boolean> | boolean {
    if (this.#probe === undefined) return true;
    return this.#channel.checkQueue(this.#probe).then(
      () => this.#alive,
      () => false,
    );
  }

  /** One frame for the run that begins right after what is settled; one for each of the others. */
  #write(tags: readonly number[]): void {
    let inRun = 0;
    while (tags[inRun] === this.#settledUpTo + 1) {
      this.#settledUpTo += 1;
      inRun += 1;
    }
    const last = tags[inRun - 1];
    if (last !== undefined) this.#ack(last, inRun > 1); // below the run everything is settled: multiple takes nothing else
    for (const tag of tags.slice(inRun)) {
      this.#ack(tag, false);
      this.#settledAhead.add(tag);
    }
    this.#passSettled();
  }

  #passSettled(): void {
    while (this.#settledAhead.delete(this.#settledUpTo + 1)) this.#settledUpTo += 1;
  }

  #ack(deliveryTag: number, multiple: boolean): void {
    this.#channel.ack({ fields: { deliveryTag } } as Parameters<Channel['ack']>[0], multiple); // amqplib reads the tag alone
  }

  #refuse(tag: number, requeue: boolean): void {
    if (!this.#alive) return;
    try {
      this.#channel.reject({ fields: { deliveryTag: tag } } as Parameters<Channel['reject']>[0], requeue); // as above
      this.#settledAhead.add(tag);
      this.#passSettled();
    } catch {
      this.#alive = false;
    }
  }
}
