import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Transport } from '@ebbgate/core';
import { type DaemonEvent, readDaemonLine } from './daemon-events.js';

/** How daemons are started. */
export interface ProcessCloudParts {
  /** Path of the program whose commands the daemons are. */
  readonly program: string;
  /** Environment of the daemons; the broker's URL is added, so that no argument tells its password. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where what the daemons log goes, besides; absent: nowhere. */
  readonly logTo?: NodeJS.WritableStream;
  /** Where guests are kept while the job runs; a new folder is made in it. */
  readonly temporaryFolder: string;
  /** Opens the API's own way to the broker. */
  readonly openTransport: () => Transport;
}

/** A process of the cloud does not start, or has died. */
export class DaemonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DaemonError';
  }
}

/** How a process has ended. */
export interface DaemonEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** So much of the end of what a daemon logged is kept, for the case that it dies. */
const KEPT = 4000;
/** A daemon that was told to end at once gets so long. */
const AT_ONCE_MS = 1000;

/** `ebbgate-compute` as a process of its own, in a process group of its own: Ctrl-C is for its parent to hear. */
export class Daemon {
  readonly name: string;
  /** Resolves when it has ended and all that it printed has arrived. */
  readonly ended: Promise<DaemonEnd>;
  readonly #child: ChildProcess;
  #log = '';
  #over = false;

  constructor(
    name: string,
    args: readonly string[],
    { program, env, logTo }: Pick<ProcessCloudParts, 'program' | 'env' | 'logTo'>,
    onEvent: (event: DaemonEvent) => void,
  ) {
    this.name = name;
    this.#child = fork(program, [...args, '--events', '--end-with-parent'], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env,
      detached: true,
    });
    const { stdout, stderr } = this.#child;
    if (!stdout || !stderr) throw new TypeError('it is started with pipes');
    createInterface({ input: stdout }).on('line', (line) => {
      const event = readDaemonLine(line);
      if (event) onEvent(event);
    });
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-KEPT);
    });
    if (logTo) stderr.pipe(logTo, { end: false });
    this.ended = this.#end();
  }

  /** The end of what it has logged. */
  get log(): string {
    return this.#log;
  }

  get over(): boolean {
    return this.#over;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#over) this.#child.kill(signal);
  }

  /** Ends it in the middle of whatever it does. */
  async cutOff(): Promise<void> {
    this.signal('SIGTERM');
    this.signal('SIGINT'); // during a drain: at once
    const timer = setTimeout(() => {
      this.signal('SIGKILL');
    }, AT_ONCE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  async #end(): Promise<DaemonEnd> {
    try {
      const [code, signal] = (await once(this.#child, 'close')) as [number | null, NodeJS.Signals | null]; // as Node says
      return { code, signal };
    } finally {
      this.#over = true;
    }
  }
}
