import type { Destination } from './driver.js';
import type { WireMessage } from './message.js';

/** What of the RPC of a topic is to be seen. */
export interface TailSource {
  /** Name of the exchange. */
  readonly exchange: string;
  /** Name of the topic. */
  readonly topic: string;
  /** What goes to that server alone; undefined: all that goes to the topic, to its servers, and to all of them. */
  readonly server: string | undefined;
  /** By what the broker tells of all that is published, where an operator has told it to: replies are seen, too. */
  readonly traced: boolean;
}

/** A message that has passed: a copy, and whoever it was for gets it all the same. */
export interface TailedMessage {
  /** Where it went. */
  readonly destination: Destination;
  /** As it was sent. Its body may be unreadable: then encoding it throws. */
  readonly message: WireMessage;
}

/** What a tail tells. Nothing of it may throw. */
export interface TailHooks {
  onMessage(tailed: TailedMessage): void;
  /** It is over, and what passes from now on is not seen. Told once, not after `close`. */
  onEnd(cause: Error): void;
}

/** Sees what passes from its beginning on, and takes nothing from anybody. */
export interface Tail {
  /** What is not to be seen this way, in words. */
  readonly unseen: readonly string[];
  /** Resolves, in bounded time, when nothing of it is left, at the broker either. Never rejects. */
  close(): Promise<void>;
}
