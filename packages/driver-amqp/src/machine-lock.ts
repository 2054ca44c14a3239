import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Deadline, MessagingTimeoutError } from '@ebbgate/core';

/** When the holder's queue of waiters is full there is nothing to wait on but time. */
const AGAIN_MS = 20;

interface Held {
  release(): Promise<void>;
}

/**
 * Runs `work` while no other process of this host runs work of the same name. The lock is an abstract Unix socket: the
 * kernel gives its name to one process, and takes it back when that ends, however it ends; so no lock is ever stale.
 *
 * @throws MessagingTimeoutError (`ERR_TIMEOUT`) when the lock is not free by the deadline.
 */
export async function withMachineLock<Result>(
  name: string,
  deadline: Deadline,
  work: () => Promise<Result>,
): Promise<Result> {
  const held = await acquire(`\0${name}`, deadline);
  if (!held) {
    throw new MessagingTimeoutError(`The lock ${name} is held by another process`, { outcome: 'not-sent' });
  }
  try {
    return await work();
  } finally {
    await held.release();
  }
}

async function acquire(path: string, deadline: Deadline): Promise<Held | undefined> {
  for (;;) {
    const held = await tryAcquire(path);
    if (held) return held;
    if (deadline.expired) return undefined;
    await released(path, deadline.remainingMs);
  }
}

function tryAcquire(path: string): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on('error', () => undefined).once('close', () => waiting.delete(socket));
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    // Exclusive: in a cluster the primary would listen instead, for all its workers at once.
    server.listen({ path, exclusive: true }, () => {
      resolve({ release: () => release(server, waiting) });
    });
  });
}

function release(server: Server, waiting: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of waiting) socket.destroy();
  });
}

/** Resolves when the holder lets go or ends, when it cannot be reached, or when the time is over. */
function released(path: string, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    let refused = false;
    const socket = connect({ path });
    const timer = setTimeout(() => socket.destroy(), mostMs);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      refused = error.code === 'EAGAIN';
    });
    socket.once('close', () => {
      clearTimeout(timer);
      if (refused) setTimeout(resolve, Math.min(AGAIN_MS, mostMs));
      else resolve();
    });
    socket.resume(); // or its end would not be read
  });
}
