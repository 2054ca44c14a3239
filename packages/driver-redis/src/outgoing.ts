import { type Deadline, MessageDeliveryError, TimerEntry, timers } from '@ebbgate/core';
import type { Script } from './script-parts.js';
import type { Argument } from './store-client.js';

/** Where something goes. */
export interface Route {
  /** Those to one place go together. */
  readonly key: string;
  readonly script: Script;
  readonly keys: readonly string[];
  /** What the script is told before the messages. */
  readonly args: readonly Argument[];
  /** For errors. */
  readonly place: string;
}

/** One message, ready to be sent. */
export interface Outgoing {
  readonly route: Route;
  /** As it is stored: a line of its deadline, and the body. */
  readonly entry: Buffer;
  readonly deadline: Deadline;
  readonly retry: number | undefined;
  readonly mandatory: boolean;
  /** May be sent again when it is unknown whether the store has it: its receiver knows duplicates (replies). */
  readonly repeatable: boolean;
}

/** Rejects a send to say: try again, nothing has reached the store or it does no harm. */
export class SendAgain extends Error {}

/** A message on its way. Settled once: by the answer of the store, a loss, or its deadline. */
export class Sending extends TimerEntry {
  readonly outgoing: Outgoing;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #settled = false;
  #written = false;

  constructor(outgoing: Outgoing, resolve: () => void, reject: (error: Error) => void) {
    super();
    this.outgoing = outgoing;
    this.#resolve = resolve;
    this.#reject = reject;
    timers.add(this, outgoing.deadline.remainingMs);
  }

  /** Its deadline has come: there is nothing to be written any more. */
  get settled(): boolean {
    return this.#settled;
  }

  /** From now on it may have arrived. */
  written(): void {
    this.#written = true;
  }

  taken(): void {
    if (this.#leave()) this.#resolve();
  }

  fail(error: Error): void {
    if (this.#leave()) this.#reject(error);
  }

  override onTime(): void {
    const text = this.#written
      ? 'The store did not confirm the message before the deadline'
      : 'The message could not be sent before the deadline';
    this.fail(new MessageDeliveryError(text, { outcome: this.#written ? 'unknown' : 'not-sent' }));
  }

  #leave(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    timers.remove(this);
    return true;
  }
}
