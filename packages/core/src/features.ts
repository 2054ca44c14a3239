/**
 * What a driver can do, stated rather than guessed. Code and conformance suite both read it; nobody asks which driver
 * it is. A feature that depends on the broker is stated for the broker named in the URL.
 */
export interface DriverFeatures {
  /** A destination that was never declared is told to the sender at once. */
  readonly undeliverable: boolean;
  /** The broker itself drops a message whose deadline has passed (the server always checks as well). */
  readonly expiry: boolean;
  /** `release()` puts a message back at once, for a sibling or for a later reader. */
  readonly release: boolean;
  /** A message that comes back is marked `redelivered`. */
  readonly redelivered: boolean;
  /** One message can reach every server of a topic. */
  readonly fanout: boolean;
  /** Notifications can be sent and listened to, in pools too (`listenForNotifications`). */
  readonly notifications: boolean;
  /** Messages outlive a restart of the broker when the options ask for it. */
  readonly durable: boolean;
  /** Sender and receiver may be different processes. */
  readonly crossProcess: boolean;
  /** Messages of one sender to one topic with one server arrive in the order they were sent. */
  readonly ordered: boolean;
  /**
   * Destinations that differ in exchange, topic or server never share a message (fanouts aside, which may span
   * exchanges). False where a wire format joins names: topic `a` with server `b` is topic `a.b` on oslo.messaging's.
   */
  readonly isolatedNames: boolean;
  /** The longest body in bytes that the broker takes; Infinity when there is no limit. */
  readonly maxMessageBytes: number;
}
