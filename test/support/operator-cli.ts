import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
/** Nothing here takes longer; what does is killed. */
const LIMIT_MS = 40_000;

/** How a command of an operator ended. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `ebbgate-compute instance …` and the like, as an operator types them, with this environment. */
export class OperatorCli {
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  /** Runs a command to its end. @param endAt - it is sent SIGINT as soon as it has printed this */
  run(argv: readonly string[], endAt?: string): Promise<Said> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [PROGRAM, ...argv], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env['PATH'], ...this.#env },
        timeout: LIMIT_MS,
        killSignal: 'SIGKILL',
      });
      let out = '';
      let err = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
        if (endAt !== undefined && out.includes(endAt)) child.kill('SIGINT');
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
      child.once('error', reject);
      child.once('close', (code) => {
        resolve({ code, out, err });
      });
    });
  }

  /** What a command prints, which has to succeed. @throws Error with all that it has printed */
  async ok(...argv: string[]): Promise<string> {
    const { code, out, err } = await this.run(argv);
    if (code === 0 && err === '') return out;
    throw new Error(`${argv.join(' ')} ended with ${String(code)}:\n${out}${err}`);
  }
}
