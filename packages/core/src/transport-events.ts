import type { ConnectionState, ListenerStatus } from './driver.js';

/** What a transport tells. */
export interface TransportEvents {
  connection: { readonly state: ConnectionState; readonly cause: Error | undefined };
  listener: ListenerStatus & { readonly cause: Error | undefined };
  /** A failure that belongs to no operation. When nobody listens it is logged. */
  error: Error;
  /** A message that no handler will see, or a reply that could not be delivered. */
  dropped: DroppedMessage;
}

/** Why a message or a reply was dropped. Holds names and sizes, never content. */
export interface DroppedMessage {
  readonly reason: 'malformed' | 'expired' | 'duplicate' | 'undispatchable' | 'reply-undeliverable';
  readonly messageId: string | undefined;
  readonly topic: string | undefined;
  readonly detail: string;
}
