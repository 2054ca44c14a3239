import { type MessageBody, SerializationError, type WireMessage } from '@ebbgate/core';

/** Throws when it is read, as a body does that is no JSON: so all malformed messages are refused, counted and told alike. */
class UnreadableBody implements MessageBody {
  readonly local: undefined = undefined;
  readonly size: number;
  readonly #error: Error;

  constructor(error: Error, size: number) {
    this.#error = error;
    this.size = size;
  }

  encode(): never {
    throw this.#error;
  }

  fork(): MessageBody {
    return this;
  }
}

/** A message of which not even the body can be had: another content type, or a compression that cannot be undone. */
export function unreadableMessage(error: unknown, size: number): WireMessage {
  const reason = error instanceof SerializationError ? error : new SerializationError('It cannot be read');
  return {
    id: undefined,
    body: new UnreadableBody(reason, size),
    deadline: undefined,
    expirationMs: undefined,
  };
}
