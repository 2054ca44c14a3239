import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { ConfigurationError, type Logger } from '@ebbgate/core';
import type { Terminal } from '../operator/terminal.js';
import { type ControlAnswer, controlLine, requestSchema } from './control-line.js';
import { NO_CONTROL, prepareFolder } from './control-path.js';

/** Does a command, and resolves with its exit code. */
export type DoCommand = (argv: readonly string[], terminal: Terminal) => Promise<number>;

/**
 * Listens on a socket of the file system for commands of the operator, who is whoever may write to it: this user. What is
 * left of one that was killed is taken away.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when somebody else listens there, or nobody can
 */
export async function serveControl(path: string, doCommand: DoCommand, logger: Logger): Promise<Server> {
  prepareFolder(path);
  const isTaken = await answers(path);
  if (isTaken) {
    throw new ConfigurationError(
      `Another all-in-one listens at ${path}: give --control another path, or "${NO_CONTROL}"`,
    );
  }
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', (error) => {
      logger.debug({ err: error }, 'An operator has gone away');
    });
    serveOne(socket, doCommand).catch((error: unknown) => {
      logger.warn({ err: error }, 'A command came that cannot be read');
      socket.destroy();
    });
  });
  try {
    server.listen(path);
    await once(server, 'listening');
  } catch (error) {
    throw new ConfigurationError(
      `Nothing can listen at ${path}: give --control another path, or "${NO_CONTROL}"`,
      {
        cause: error,
      },
    );
  }
  chmodSync(path, 0o600);
  server.unref();
  return server;
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false; // nothing is there, or what a process has left that is no more
  } finally {
    socket.destroy();
  }
}

/** One command on each connection; it is aborted when the connection goes. */
async function serveOne(socket: Socket, doCommand: DoCommand): Promise<void> {
  const gone = new AbortController();
  socket.on('close', () => {
    gone.abort(new Error('the operator has gone away'));
  });
  const lines = createInterface({ input: socket });
  lines.on('error', () => undefined); // of the socket, where it is heard: nobody hears it here once the line has come
  const [line] = (await once(lines, 'line', { signal: gone.signal })) as [string]; // as Node says
  const { argv, screen } = requestSchema.parse(JSON.parse(line));
  const say = (answer: ControlAnswer): void => {
    if (!gone.signal.aborted) socket.write(controlLine(answer));
  };
  const out = (text: string): void => {
    say({ out: text });
  };
  const code = await doCommand(argv, {
    out,
    err: (text) => {
      say({ err: text });
    },
    screen: screen ? { ...screen, write: out } : undefined,
    signal: gone.signal,
  });
  say({ exit: code });
  socket.end();
}
