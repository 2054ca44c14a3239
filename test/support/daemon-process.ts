import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { type DaemonEvent, readDaemonLine } from '#compute/main-job/daemon-events.js';

const PROGRAM = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
/** No test has a daemon for longer, unless it is said; it ends with the tests, too. */
const LIMIT_MS = 600_000;

/** How a daemon ended. */
export interface DaemonEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** `ebbgate-compute compute` or `conductor` as a process, and what it tells. */
export class DaemonProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<DaemonEnd>;
  readonly events: DaemonEvent[] = [];
  /** What it has logged. */
  log = '';
  /** Where it keeps what it is not told where to keep. */
  readonly #data = mkdtempSync(join(tmpdir(), 'ebbgate-data-'));
  readonly #waiting = new Set<() => void>();
  #over = false;

  /** @param url - of the broker, which is given by the environment */
  constructor(
    url: string,
    argv: readonly string[],
    { limitMs = LIMIT_MS, logLevel = 'warn' }: { readonly limitMs?: number; readonly logLevel?: string } = {},
  ) {
    this.child = fork(PROGRAM, [...argv, '--events', '--end-with-parent', '--log-level', logLevel], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'], EBBGATE_URL: url, XDG_DATA_HOME: this.#data },
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    this.ended = this.#end();
  }

  /** Resolves with the first event, so far or to come, of which this is so. */
  async event(isIt: (event: DaemonEvent) => boolean): Promise<DaemonEvent> {
    for (;;) {
      const found = this.events.find(isIt);
      if (found) return found;
      if (this.#over) throw new Error(`It ended without the event:\n${this.log}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Resolves when it serves. */
  async serves(): Promise<void> {
    await this.event(
      (event) => event.kind === 'serves' || (event.kind === 'host' && event.view.state === 'running'),
    );
  }

  async #end(): Promise<DaemonEnd> {
    const { stdout, stderr } = this.child;
    if (!stdout || !stderr) throw new Error('It was started with pipes');
    stderr.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    createInterface({ input: stdout }).on('line', (line) => {
      const event = readDaemonLine(line);
      if (event) this.events.push(event);
      this.#wake();
    });
    const [code, signal] = (await once(this.child, 'close')) as [number | null, NodeJS.Signals | null];
    rmSync(this.#data, { recursive: true, force: true });
    this.#over = true;
    this.#wake();
    return { code, signal };
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
