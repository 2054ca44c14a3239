import type { Duplex } from 'node:stream';
import { within } from '@ebbgate/core';
import type { ChannelModel } from 'amqplib';

/** Closing asks the broker, and waits for its answer at most so long. */
const CLOSE_MS = 3_000;

/** An orderly close, by which the broker has processed all that was written; or, when it does not answer, the socket's end. */
export async function closeInTime(model: ChannelModel): Promise<boolean> {
  model.on('error', () => undefined);
  try {
    await within(model.close(), { timeoutMs: CLOSE_MS }, () => new Error('no answer'));
    return true;
  } catch {
    return false;
  } finally {
    endSocket(socketOf(model));
  }
}

/** amqplib's own socket: not in its types. */
export function socketOf(model: ChannelModel): Duplex | undefined {
  return (model.connection as { stream?: Duplex }).stream;
}

/** With an error: without one amqplib would not notice, and go on sending heartbeats. */
export function endSocket(socket: Duplex | undefined): void {
  if (socket?.destroyed === false) socket.destroy(new Error('closed'));
}
