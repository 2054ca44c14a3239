import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** No test process lives longer than this, on a machine that may be busy. */
const LIFE_MS = 60_000;

/** A Node process started by a test, whose lines can be waited for. */
export class TestProcess {
  readonly lines: string[] = [];
  /** Resolves when it has ended and all that it printed has arrived. */
  readonly ended: Promise<ProcessEnd>;
  stderr = '';
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** @param script - the path of a compiled script @param env - besides the environment of the tests */
  constructor(script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [script, ...args], {
      stdio: 'pipe',
      env: { ...process.env, ...env },
    });
    let rest = '';
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      this.lines.push(...lines);
      this.#look();
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#child.stdin.on('error', () => undefined); // it may have ended
    const life = setTimeout(() => this.#child.kill('SIGKILL'), LIFE_MS);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        clearTimeout(life);
        this.#over = true;
        this.#look();
        resolve({ code, signal });
      });
    });
  }

  /** Resolves when the line has been printed, or one like it; rejects when the process has ended without it. */
  async line(wanted: string | RegExp): Promise<void> {
    const isIt = (line: string): boolean =>
      typeof wanted === 'string' ? line === wanted : wanted.test(line);
    while (!this.lines.some(isIt)) {
      if (this.#over)
        throw new Error(
          `"${wanted}" was never printed; there was:\n${this.lines.join('\n')}\n${this.stderr}`,
        );
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Its reader goes away: what it prints from here on fails. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  #look(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
