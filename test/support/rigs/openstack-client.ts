import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PATIENCE } from '../patience.js';
import { type CommandResult, runCommand } from '../run-command.js';
import { eventually, within } from './deadline.js';
import { ensurePackages } from './debian.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';

const LIMIT_MS = 20_000;
/** The newest version that the client of Debian's release knows. */
const CLIENT_VERSION = '2.92';

/** What names an API, as options of the command. */
export function openstackOptions(url: string, access: readonly string[]): readonly string[] {
  return [...access, '--os-endpoint', `${url}/v2.1`, '--os-compute-api-version', CLIENT_VERSION];
}

/** Runs the unmodified `openstack` command once: a Python process, which takes a second or two to start. */
export async function openstack(argv: readonly string[]): Promise<CommandResult> {
  await ensurePackages(['python3-openstackclient']);
  const home = await privateFolder('openstack');
  const env = ['-i', `PATH=${process.env['PATH'] ?? ''}`, `HOME=${home.path}`];
  const said = await runCommand('env', [...env, 'openstack', ...argv], home.path, LIMIT_MS * PATIENCE);
  await home.remove();
  return said;
}

/**
 * The unmodified `openstack` command as one process that reads its commands from its input, one after the other. Its options
 * are in the environment, as it would take arguments for commands then.
 */
export class OpenstackShell {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #home: PrivateFolder;
  readonly #lines: AsyncIterator<string>;
  #count = 0;

  private constructor(url: string, home: PrivateFolder) {
    const env = {
      PATH: process.env['PATH'],
      HOME: home.path,
      PYTHONUNBUFFERED: '1',
      OS_AUTH_TYPE: 'none',
      OS_ENDPOINT: `${url}/v2.1`,
      OS_COMPUTE_API_VERSION: CLIENT_VERSION,
    };
    this.#home = home;
    // Errors between the results, where they belong.
    this.#child = spawn('sh', ['-c', 'exec openstack 2>&1'], { env });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** @param url - of the API, which needs no token */
  static async open(url: string): Promise<OpenstackShell> {
    await ensurePackages(['python3-openstackclient']);
    return new OpenstackShell(url, await privateFolder('openstack'));
  }

  /** What a command prints, errors included. */
  run(command: string): Promise<string> {
    return within(`openstack ${command}`, LIMIT_MS, this.#run(command));
  }

  /** What a command that prints JSON has to tell. @throws Error with what it has printed instead */
  async json<T>(command: string): Promise<T> {
    const printed = await this.run(`${command} -f json`);
    try {
      return JSON.parse(printed) as T;
    } catch {
      throw new Error(`openstack ${command}: ${printed}`);
    }
  }

  /** Runs a command that prints nothing when all goes well. @throws Error with what it has printed */
  async done(command: string): Promise<void> {
    const printed = await this.run(command);
    if (printed !== '') throw new Error(`openstack ${command}: ${printed}`);
  }

  /** Resolves when a command prints this. */
  async prints(command: string, wanted: string): Promise<void> {
    let printed = '';
    const look = async (): Promise<boolean> => (printed = await this.run(command)) === wanted;
    await eventually(`openstack ${command}: ${wanted}`, LIMIT_MS, look).catch((error: unknown) => {
      throw new Error(`It last printed ${printed}`, { cause: error });
    });
  }

  /** Resolves with its exit code. */
  async close(): Promise<number | null> {
    this.#child.stdin.end();
    const [code] = (await once(this.#child, 'close')) as [number | null]; // as Node documents it
    await this.#home.remove();
    return code;
  }

  async #run(command: string): Promise<string> {
    this.#count += 1;
    const mark = `end of ${this.#count}`;
    this.#child.stdin.write(`${command}\n!echo ${mark}\n`);
    const printed: string[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error(`openstack has ended:\n${printed.join('\n')}`);
      if (value === mark) return printed.join('\n');
      printed.push(value);
    }
  }
}
