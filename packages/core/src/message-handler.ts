import type { MaybePromise } from './driver.js';
import type { WireMessage } from './message.js';

/** What a server does with messages; `Request` is what it makes of one. */
export interface MessageHandler<Request> {
  /** Reads a message; changes nothing of it. What it throws marks the message as malformed: rejected, never seen again. */
  read(message: WireMessage): Request;
  /** The id by which a duplicate is known; undefined: never one. */
  idOf(request: Request): string | undefined;
  /**
   * Runs before the message is accepted, for endpoints that write a journal first (`decisions.md` 5). When it fails the
   * message goes back, and the server asks for no more for a while: 100 ms at first, then twice as long each time, up to
   * 10 s, until a message is accepted again.
   */
  beforeAccept?(request: Request): MaybePromise<void>;
  /** Handles an accepted message to its very end, its reply included. The slot is given back when it settles. */
  run(request: Request): MaybePromise<void>;
}

/** What becomes of a message that was handled before it is taken from the broker; `release`: so much later it goes back. */
export type Verdict = 'accept' | 'reject' | { readonly releaseAfterMs: number };

/** As {@link MessageHandler}, for messages that stay the broker's until they are handled (at least once). */
export interface LateHandler<Request> extends Pick<MessageHandler<Request>, 'read' | 'idOf'> {
  /** Handles a message to its very end. The slot is given back when it settles; what it throws makes the message go back. */
  handle(request: Request): MaybePromise<Verdict>;
  /** The server takes no more: what was not begun is to be released. */
  onStopping?(): void;
}
