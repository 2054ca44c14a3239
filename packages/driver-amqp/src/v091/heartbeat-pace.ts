import type { RawConnection } from './amqplib-parts.js';

/** Heartbeats within one negotiated interval: two would do if timers were never late. */
const PER_INTERVAL = 3;

/**
 * Sends heartbeats so that never more than half the negotiated interval goes by without a frame: amqplib alone leaves gaps
 * of nearly the whole of it. Returns what ends it.
 */
export function keepHeartbeatPace(connection: RawConnection): () => void {
  if (connection.heartbeat === 0) return () => undefined;
  const beat = setInterval(
    () => {
      connection.sendHeartbeat();
    },
    (connection.heartbeat * 1000) / PER_INTERVAL,
  );
  beat.unref();
  return () => {
    clearInterval(beat);
  };
}
