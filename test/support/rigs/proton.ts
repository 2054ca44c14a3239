import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runCommand } from '../run-command.js';
import { ensurePackages } from './debian.js';

/** The script stays with the sources; this file runs from the build folder. */
const FOLDER = join(import.meta.dirname, '../../../../test/support/rigs');
/** Debian's own Python, which has the package; another may come first in PATH. */
const PYTHON = '/usr/bin/python3';

/** A broker by Qpid Proton, whose nodes are made on use. */
export class ProtonBroker {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(): Promise<ProtonBroker> {
    await ensurePackages(['python3-qpid-proton']);
    const child = spawn(PYTHON, [join(FOLDER, 'proton_peer.py'), 'broker'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout);
    const [port] = (await once(lines, 'line')) as [string]; // its first line
    return new ProtonBroker(child, Number(port));
  }

  async dispose(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** Where a call by Proton goes. */
export interface ProtonCall {
  readonly url: string;
  /** The virtual host, as the broker has it. */
  readonly hostName: string;
  readonly node: string;
  /** Where it receives the reply. */
  readonly replies: string;
  readonly method: string;
  readonly args: object;
}

/** A call by a client of Proton; gives the inner message of the reply. */
export async function protonCall({
  url,
  hostName,
  node,
  replies,
  method,
  args,
}: ProtonCall): Promise<unknown> {
  await ensurePackages(['python3-qpid-proton']);
  const command = [
    join(FOLDER, 'proton_peer.py'),
    'client',
    url,
    hostName,
    node,
    replies,
    method,
    JSON.stringify(args),
  ];
  const { code, stdout, stderr } = await runCommand(PYTHON, command, FOLDER);
  if (code !== 0) throw new Error(`The call by Proton failed:\n${stderr}`);
  return JSON.parse(stdout);
}
