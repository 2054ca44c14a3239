import { diagnostics } from './diagnostics.js';
import type { Destination } from './driver.js';
import type { WireMessage } from './message.js';

/** Tells whoever subscribed that the broker has taken a message. */
export function tellSent(destination: Destination, { id: messageId, body }: WireMessage): void {
  if (!diagnostics.published.hasSubscribers) return;
  diagnostics.published.publish({ messageId, destination, size: body.size });
}

/** Tells whoever subscribed that it has not. */
export function tellNotSent(
  destination: Destination,
  { id: messageId, body }: WireMessage,
  error: Error,
): void {
  if (!diagnostics.publishFailed.hasSubscribers) return;
  diagnostics.publishFailed.publish({ messageId, destination, size: body.size, error });
}
