import { createServer, type Server } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections, so that none of those is in the way. */
const FIRST = 20_000;
const LAST = 31_999;
const TRIES = 100;

function tryListen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server));
  });
}

/**
 * So many different ports of 127.0.0.1 on which nothing listens now. Nothing holds them: who starts a server there
 * must be ready to try again with others.
 */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  for (let attempt = 0; held.size < count && attempt < TRIES; attempt += 1) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    const server = held.has(port) ? undefined : await tryListen(port);
    if (server) held.set(port, server);
  }
  for (const server of held.values()) await new Promise((resolve) => server.close(resolve));
  if (held.size < count) throw new Error(`Fewer than ${count} free ports from ${FIRST} to ${LAST}`);
  return [...held.keys()];
}

/** One of {@link freePorts}. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('No free port');
  return port;
}
