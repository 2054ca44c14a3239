import type { Deadline } from './deadline.js';

/**
 * The content of a message, in two forms of which each is made from the other once and only when asked for: the
 * bytes that leave the process, and `local`, what a receiver in this process may take without any text.
 * Both forms must have the same outcome for every value (`docs/decisions/0003-json-values.md`).
 */
export interface MessageBody {
  /** The bytes for the wire: always the same ones. */
  encode(): Uint8Array;
  /** Set by a sender in this process. It belongs to the one receiver, who must not change it before `accept()`. */
  readonly local: unknown;
  /** Bytes, or for a body never encoded an estimate: what the limits on buffers count. */
  readonly size: number;
  /** A body for a further receiver, which shares no object with this one. */
  fork(): MessageBody;
}

/** One message as drivers see it: they move it, and look at nothing but this. */
export interface WireMessage {
  /**
   * Fresh for each message and the same when it is sent again: 32 hexadecimal digits. Undefined on a message that came
   * off a wire whose format keeps the id in the body (`_unique_id` of the oslo envelope): its reader finds it there.
   */
  readonly id: string | undefined;
  /** Read as bytes or, on drivers from which no byte leaves the process, as plain values. */
  readonly body: MessageBody;
  /** Neither broker nor server runs the message later than this. */
  readonly deadline: Deadline | undefined;
  /**
   * The whole time-out of a call in milliseconds, as oslo.messaging sends it in the AMQP property `expiration`
   * (`wire.md` 1.4); undefined for everything but call requests.
   */
  readonly expirationMs: number | undefined;
}

class BytesBody implements MessageBody {
  readonly local: undefined = undefined;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.byteLength;
  }

  encode(): Uint8Array {
    return this.#bytes;
  }

  fork(): MessageBody {
    return this; // bytes are never changed
  }
}

/** A body from bytes that came off a wire. They must not be changed afterwards. */
export function bytesBody(bytes: Uint8Array): MessageBody {
  return new BytesBody(bytes);
}
