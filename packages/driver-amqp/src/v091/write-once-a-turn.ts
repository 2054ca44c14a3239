import type { Duplex } from 'node:stream';

/**
 * Lets all that amqplib writes in one turn of the event loop leave in one system call: it writes once a frame group,
 * whatever the load, which is most of a server's CPU (`docs/performance.md`).
 */
export function writeOnceATurn(socket: Duplex): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean; // all overloads alike
  let corked = false;
  const uncork = (): void => {
    corked = false;
    socket.uncork();
  };
  socket.write = (...args: unknown[]): boolean => {
    if (!corked) {
      corked = true;
      socket.cork();
      queueMicrotask(uncork); // amqplib writes all that is due in one go
    }
    return write(...args);
  };
}
