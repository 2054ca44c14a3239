import type { ConnectionState, ListenerStatus } from './driver.js';

/** What a transport tells. */
export interface TransportEvents {
  /** The connection changed its state; `cause` says why it was lost. */
  connection: { readonly state: ConnectionState; readonly cause: Error | undefined };
  /** A listener lost its subscription, for the reason `cause`, or has it again. */
  listener: ListenerStatus & { readonly cause: Error | undefined };
  /** A failure that belongs to no operation. When nobody listens it is logged. */
  error: Error;
  /** A message that no handler will see, or a reply that could not be delivered. */
  dropped: DroppedMessage;
}

/** Why a message or a reply was dropped. Holds names and sizes, never content. */
export interface DroppedMessage {
  /** Why nobody handled it. */
  readonly reason:
    | 'malformed'
    | 'expired'
    | 'duplicate'
    | 'undispatchable'
    | 'reply-undeliverable'
    /** Was handed back as often as it may be. */
    | 'exhausted';
  /** Its id, when it could be read. */
  readonly messageId: string | undefined;
  /** Where it was to be handled; undefined for replies. */
  readonly topic: string | undefined;
  /** The reason in words, without content. */
  readonly detail: string;
}
