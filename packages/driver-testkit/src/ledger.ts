import { AssertionError } from 'node:assert/strict';
import { type Delivery, type Destination, MessagingError } from '@ebbgate/core';

/** How a test has settled a message for good. */
export type Verdict = 'accept' | 'reject';

/** What is known of one text. */
interface Entry {
  /** Every receiver has a copy of its own. */
  readonly isFanout: boolean;
  /** Sends that may have arrived: confirmed, under way, or of unknown outcome. */
  possible: number;
  /** Deliveries that the broker calls the first ones, by receiver. */
  readonly fresh: Map<object, number>;
  /** By receiver, or for all of them under the entry itself. */
  readonly verdicts: Map<object, Verdict>;
}

/**
 * What one test has sent and received while links fail, where a message may come more than once: again, marked as
 * redelivered, when its acknowledgement may have been lost, and as a copy when its sender was told that the outcome is
 * unknown and has sent it again. For nothing else: {@link Ledger.check} counts.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #marksRedelivered: boolean;
  #hasFailed = false;

  /** @param marksRedelivered - the driver tells what comes again from what is fresh */
  constructor(marksRedelivered: boolean) {
    this.#marksRedelivered = marksRedelivered;
  }

  /** The same attempt to send a text, counted unless it fails as *not sent*. */
  recorded(text: string, { kind }: Destination, publish: () => Promise<void>): () => Promise<void> {
    const entry = this.#entry(text, kind === 'fanout' || kind === 'notification'); // each pool has a copy
    return async () => {
      entry.possible += 1; // it may arrive before it is confirmed
      try {
        await publish();
      } catch (error) {
        this.#hasFailed = true;
        if (error instanceof MessagingError && error.outcome === 'not-sent') entry.possible -= 1;
        throw error;
      }
    };
  }

  /** A send has failed: what it has sent all the same may still be on its way. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** More than one copy of it may be at the broker. */
  mayBeTwice(text: string): boolean {
    return (this.#entries.get(text)?.possible ?? 0) > 1;
  }

  arrived(text: string, receiver: object, { redelivered }: Delivery): void {
    if (redelivered && this.#marksRedelivered) return;
    const { fresh } = this.#entry(text, false);
    fresh.set(receiver, (fresh.get(receiver) ?? 0) + 1);
  }

  /** How the receiver, or another one of the same queue, has settled it already. */
  verdictOf(text: string, receiver: object): Verdict | undefined {
    const entry = this.#entry(text, false);
    return entry.verdicts.get(entry.isFanout ? receiver : entry);
  }

  settled(text: string, receiver: object, verdict: Verdict): void {
    const entry = this.#entry(text, false);
    entry.verdicts.set(entry.isFanout ? receiver : entry, verdict);
  }

  /** @throws AssertionError for a message that has come although it was not sent, or more often than it was sent. */
  check(): void {
    for (const [text, { isFanout, possible, fresh }] of this.#entries) {
      const counts = [...fresh.values()];
      const most = isFanout ? Math.max(0, ...counts) : counts.reduce((sum, count) => sum + count, 0);
      const isWrong = this.#marksRedelivered ? most > possible : possible === 0 && most > 0;
      if (!isWrong) continue;
      const what = `"${text.slice(0, 40)}" has come ${String(most)} times, not marked as redelivered`;
      throw new AssertionError({
        message: `${what}; sends of it that may have arrived: ${String(possible)}`,
      });
    }
  }

  #entry(text: string, isFanout: boolean): Entry {
    let entry = this.#entries.get(text);
    if (!entry) {
      entry = { isFanout, possible: 0, fresh: new Map(), verdicts: new Map() };
      this.#entries.set(text, entry);
    }
    return entry;
  }
}
