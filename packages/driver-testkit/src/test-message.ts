import {
  bytesBody,
  type Deadline,
  type Destination,
  type MessageBody,
  type NotificationDestination,
  type ReplyDestination,
  type ServerSource,
  uniqueId,
  type WireMessage,
} from '@ebbgate/core';

/** What a test may want of its message besides its text. */
export interface MessageParts {
  readonly id?: string;
  readonly deadline?: Deadline | undefined;
}

export function textMessage(text: string | Uint8Array, parts: MessageParts = {}): WireMessage {
  return bodyMessage(bytesBody(typeof text === 'string' ? Buffer.from(text) : text), parts);
}

export function bodyMessage(body: MessageBody, parts: MessageParts = {}): WireMessage {
  return { id: parts.id ?? uniqueId(), body, deadline: parts.deadline, expirationMs: undefined };
}

export function bytesOf(message: WireMessage): Buffer {
  return Buffer.from(message.body.encode());
}

export function textOf(message: WireMessage): string {
  return bytesOf(message).toString();
}

/** A body that has a form for receivers in the same process, as those of RPC have: what must not be shared. */
export class ObjectBody implements MessageBody {
  readonly local: { list: number[] };

  constructor(list: readonly number[]) {
    this.local = { list: [...list] };
  }

  get size(): number {
    return this.encode().byteLength;
  }

  encode(): Uint8Array {
    return Buffer.from(JSON.stringify(this.local));
  }

  fork(): MessageBody {
    return new ObjectBody(this.local.list);
  }
}

/** A request as oslo.messaging writes it without its envelope, in bytes. */
export function requestBytes(method: string, id: string): Uint8Array {
  return Buffer.from(JSON.stringify({ method, args: {}, version: '1.0', _unique_id: id }));
}

export function toTopic({ exchange, topic }: Omit<ServerSource, 'server'>): Destination {
  return Object.freeze({ kind: 'topic', exchange, topic });
}

export function toServer({ exchange, topic, server }: ServerSource): Destination {
  return Object.freeze({ kind: 'server', exchange, topic, server });
}

export function toFanout({ exchange, topic }: Omit<ServerSource, 'server'>): Destination {
  return Object.freeze({ kind: 'fanout', exchange, topic });
}

export function toNotifications({
  exchange,
  topic,
}: Omit<NotificationDestination, 'kind'>): NotificationDestination {
  return Object.freeze({ kind: 'notification', exchange, topic });
}

export function toReply(address: string): ReplyDestination {
  return Object.freeze({ kind: 'reply', address });
}

/** `one-0`, `one-1`, … */
export function numbered(stem: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${stem}-${String(index)}`);
}
