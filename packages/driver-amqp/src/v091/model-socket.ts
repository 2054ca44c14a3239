import type { Duplex } from 'node:stream';
import { within } from '@ebbgate/core';
import type { ChannelModel } from 'amqplib';
import { rawConnection } from './amqplib-parts.js';
import { closedInOrder } from './orderly-close.js';

/** Closing asks the broker, and waits for its answer at most so long. */
const CLOSE_MS = 3_000;

/** An orderly close, by which the broker has processed all that was written; in any case the socket's end. Never rejects. */
export async function closeInTime(model: ChannelModel): Promise<void> {
  model.on('error', () => undefined);
  try {
    await within(closedInOrder(model), { timeoutMs: CLOSE_MS }, () => new Error('no answer'));
  } catch {
    // the broker does not answer
  } finally {
    endSocket(rawConnection(model).stream);
  }
}

/** With an error: without one amqplib would not notice, and go on sending heartbeats. */
export function endSocket(socket: Duplex): void {
  if (!socket.destroyed) socket.destroy(new Error('closed'));
}
