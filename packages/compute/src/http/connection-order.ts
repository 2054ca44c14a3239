import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/**
 * Requests that come on one connection without waiting for answers: each is begun when the one before it is answered, so
 * that they take no more memory than one, and after all others have had their turn.
 */
export class ConnectionOrder {
  /** When the answer to the last request of a connection is out. */
  readonly #last = new WeakMap<Socket, Promise<void>>();

  /** Resolves when it is the turn of a request; with false when nobody waits for its answer any more. */
  async turn(socket: Socket, answer: ServerResponse): Promise<boolean> {
    const before = this.#last.get(socket);
    const isOut = new Promise<void>((resolve) => answer.once('close', resolve));
    this.#last.set(socket, isOut);
    void isOut.then(() => {
      if (this.#last.get(socket) === isOut) this.#last.delete(socket);
    });
    if (!before) return true;
    await before;
    await setImmediate();
    return !socket.destroyed;
  }
}
