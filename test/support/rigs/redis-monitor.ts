import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { within } from './deadline.js';

const LIMIT_MS = 10_000;
const SIGNS: ReadonlyMap<string, string> = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' }),
);

/** What tells of every command that a server runs, in its order, those of scripts included. */
export interface RedisMonitor {
  close(): void;
}

/**
 * Resolves when every command from now on is told. (ioredis has a way to do that, which fails when the answer and the first
 * command come together.)
 */
export async function monitorRedis(
  port: number,
  onCommand: (command: readonly string[]) => void,
): Promise<RedisMonitor> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy()); // a server that has ended runs no commands
  const lines = createInterface({ input: socket });
  socket.write('MONITOR\r\n');
  await within('the answer to MONITOR', LIMIT_MS, once(lines, 'line'));
  lines.on('line', (line) => onCommand(argumentsIn(line)));
  return { close: () => void socket.destroy() };
}

/** `+TIME [DATABASE CLIENT] "name" "argument" …` */
function argumentsIn(line: string): readonly string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, shown = '']) => unescaped(shown));
}

function unescaped(shown: string): string {
  const bytes = shown.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_all, hex?: string, sign = '') =>
    hex === undefined
      ? (SIGNS.get(String(sign)) ?? String(sign))
      : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
