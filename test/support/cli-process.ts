import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The compiled program. */
const PROGRAM = join(import.meta.dirname, '../../../packages/cli/dist/main.js');
/** Nothing here takes longer; what does is killed. */
const LIMIT_MS = 20_000;

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `ebbgate` as a process of its own, with a channel to the endpoints file in it. */
export class CliProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #lines: string[] = [];
  readonly #messages: string[] = [];
  readonly #waiting = new Set<() => void>();
  #stderr = '';

  constructor(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.child = fork(PROGRAM, argv, {
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'], ...env },
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    this.ended = this.#end();
    this.child.on('message', (message) => {
      this.#messages.push(typeof message === 'string' ? message : JSON.stringify(message));
      this.#wake();
    });
  }

  /** Resolves with the first line on stdout, so far or to come, of which this is so. */
  line(isIt: (line: string) => boolean): Promise<string> {
    return this.#first(this.#lines, isIt);
  }

  /** Resolves with the first JSON line whose member `event` is this. */
  async event(name: string): Promise<Record<string, unknown>> {
    const line = await this.line((text) => (JSON.parse(text) as { event?: string }).event === name);
    return JSON.parse(line) as Record<string, unknown>;
  }

  /** Resolves when it says on stderr that it listens. */
  async listening(): Promise<void> {
    await this.#first([''], () => this.#stderr.includes('listening'));
  }

  /** Resolves when it says on stderr that it tails. */
  async tailing(): Promise<void> {
    await this.#first([''], () => this.#stderr.includes('tailing'));
  }

  /** The messages of the endpoints file so far that begin so. */
  messages(start: string): readonly string[] {
    return this.#messages.filter((message) => message.startsWith(start));
  }

  /** Resolves when there are so many of them. */
  async messageCount(start: string, count: number): Promise<void> {
    await this.#first(this.#messages, () => this.messages(start).length >= count);
  }

  /** Resolves with the first message of the endpoints file that begins so. */
  message(start: string): Promise<string> {
    return this.#first(this.#messages, (message) => message.startsWith(start));
  }

  #first(from: readonly string[], isIt: (text: string) => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = from.find(isIt);
        if (found === undefined) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
      void this.ended.then((end) => {
        look();
        reject(new Error(`The process ended first: ${JSON.stringify(end)}`));
      });
    });
  }

  async #end(): Promise<Ended> {
    const { stdout, stderr } = this.child;
    if (!stdout || !stderr) throw new Error('It was started with pipes');
    let errors = '';
    stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
      this.#stderr = errors;
      this.#wake();
    });
    createInterface({ input: stdout }).on('line', (line) => {
      this.#lines.push(line);
      this.#wake();
    });
    const [code, signal] = (await once(this.child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: this.#lines.map((line) => `${line}\n`).join(''), stderr: errors };
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}

/** Runs `ebbgate` to its end. */
export function runEbbgate(argv: readonly string[], input = ''): Promise<Ended> {
  const run = new CliProcess(argv);
  run.child.stdin?.end(input);
  return run.ended;
}
