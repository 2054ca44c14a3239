import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset (RST). Node's own `resetAndDestroy`, while the end of the stream is on its way to the
 * system, fails with EINVAL and leaves a socket that never closes, on which the event loop spins: that moment is waited for.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isEnding && !socket.destroyed) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}
