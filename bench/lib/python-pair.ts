import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { ensurePackages } from './measure.js';

/** Debian's, which has oslo.messaging; another python3 may come first in PATH. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = new URL('../../../bench/lib/oslo_bench.py', import.meta.url).pathname;

interface Side {
  readonly child: ChildProcess;
  readonly lines: Interface;
}

async function start(role: string, url: string): Promise<Side> {
  const child = spawn(PYTHON, [SCRIPT, role, url], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  return { child, lines };
}

/** Client and server of oslo.messaging, a process each. */
export class PythonPair {
  readonly #server: Side;
  readonly #client: Side;

  private constructor(server: Side, client: Side) {
    this.#server = server;
    this.#client = client;
  }

  static async start(url: string): Promise<PythonPair> {
    await ensurePackages(['python3-oslo.messaging']);
    const server = await start('server', url);
    return new PythonPair(server, await start('client', url));
  }

  /** Calls a second. */
  async round(times: number, concurrency: number): Promise<number> {
    this.#client.child.stdin?.write(`${String(times)} ${String(concurrency)}\n`);
    const [line] = (await once(this.#client.lines, 'line')) as [string]; // a line of text
    return Number(line);
  }

  async end(): Promise<void> {
    for (const { child } of [this.#client, this.#server]) {
      const ended = once(child, 'exit');
      child.stdin?.end();
      await ended;
    }
  }
}
