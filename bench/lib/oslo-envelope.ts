import { randomUUID } from 'node:crypto';

interface Envelope {
  readonly 'oslo.message': string;
}

/** What the contenders read of a message. */
export interface Inner {
  readonly args: { readonly message: unknown };
  readonly _msg_id?: string;
  readonly _reply_q: string;
  readonly result: unknown;
}

/** A message as oslo.messaging writes it. */
export function pack(inner: object): Buffer {
  return Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) }));
}

export function unpack(content: Buffer): Inner {
  const envelope = JSON.parse(content.toString()) as Envelope; // what the other side of the bench sends
  return JSON.parse(envelope['oslo.message']) as Inner; // likewise
}

export function id(): string {
  return randomUUID().replaceAll('-', '');
}
