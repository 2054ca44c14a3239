import { WaitingLine } from '../waiting-line.js';
import type { Outgoing } from './unconfirmed.js';

/** So many bytes go on before the socket is asked again. */
const BATCH = 1024 ** 2;
/** What a message has beside its body, about. */
const EXTRA = 256;

/** Whether the socket has room for one more publish. Who finds none waits, and goes on in turn. */
export class SendRoom {
  readonly #line = new WaitingLine();
  #isFull = false;
  /** Those who were let go write before the next turn of the event loop; nobody shall overtake them. */
  #isServing = false;

  /** One more has to wait. */
  get isTaken(): boolean {
    return this.#isFull || this.#isServing || !this.#line.isEmpty;
  }

  /** Resolves when it may be written, or when there is nothing more to wait for; what `late` makes at its deadline. */
  turn({ deadline, body }: Outgoing, late: () => Error): Promise<void> {
    return this.#line.wait(deadline, body.byteLength + EXTRA, late);
  }

  /** The socket is to be given no more. */
  onFull(): void {
    this.#isFull = true;
  }

  /** The socket has taken everything. */
  onDrain(): void {
    this.#isFull = false;
    if (!this.#isServing) this.#serve();
  }

  /** The channel is gone. */
  onEnd(): void {
    this.#isFull = false;
    this.#line.letGo(Infinity);
  }

  #serve(): void {
    if (this.#isFull || this.#line.isEmpty) return;
    this.#isServing = true;
    this.#line.letGo(BATCH);
    setImmediate(() => {
      this.#isServing = false;
      this.#serve();
    });
  }
}
