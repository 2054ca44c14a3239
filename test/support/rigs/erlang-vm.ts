import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { within } from './deadline.js';
import { type Watchdog, watchdog } from './watchdog.js';

/** A slow machine with all else running needs about 20 s. */
const START_LIMIT_MS = 90_000;
const STOP_LIMIT_MS = 30_000;

/** Whose process it is; nothing to change when this is not root. */
export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** The ids of a user to run as, when this is root. */
export function idsOf(user: string): UserIds | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`There is no user ${user}`);
  return { uid: Number(uid), gid: Number(gid) };
}

export interface VmSettings {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ids: UserIds | undefined;
  /** What its environment contains, and no other's. */
  readonly word: string;
  readonly folder: string;
  /** Where its stdout and stderr go. */
  readonly output: string;
  /** It has started when stdout contains this. */
  readonly startedText: string;
}

/** One Erlang virtual machine: a child process that cannot outlive this process. */
export class ErlangVm {
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  readonly started: Promise<void>;
  readonly #child: ChildProcess;
  readonly #watchdog: Watchdog | undefined;
  #running = true;
  #suspended = false;

  constructor(settings: VmSettings) {
    const { command, env, ids, folder } = settings;
    // A session of its own: Ctrl-C in a terminal is for the tests, which then end it in their way.
    const child = spawn(command, [], {
      env,
      ...ids,
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    const kill = (): void => void child.kill('SIGKILL');
    process.on('exit', kill);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#running = false;
        process.off('exit', kill);
        this.#watchdog?.dismiss();
        resolve();
      };
      child.once('exit', end).once('error', end);
    });
    this.#watchdog =
      child.pid === undefined ? undefined : watchdog({ pid: child.pid, word: settings.word, folder });
    this.started = this.#whenStarted(settings);
    this.started.catch(() => {}); // whoever starts it awaits it, a little later
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Stops it (SIGTERM): the broker closes in order. */
  async stop(): Promise<void> {
    this.resume();
    this.#child.kill('SIGTERM');
    try {
      await within('The end of the Erlang VM after SIGTERM', STOP_LIMIT_MS, this.ended);
    } finally {
      await this.kill();
    }
  }

  /** Ends it at once (SIGKILL), also when it is suspended. */
  async kill(): Promise<void> {
    if (this.#running) this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** SIGSTOP: its sockets stay open, and nothing answers. */
  suspend(): void {
    if (!this.#running) throw new Error('It does not run');
    this.#child.kill('SIGSTOP');
    this.#suspended = true;
  }

  /** SIGCONT. */
  resume(): void {
    if (this.#suspended && this.#running) this.#child.kill('SIGCONT');
    this.#suspended = false;
  }

  /** Lets this process end although it runs; it is ended then. */
  unref(): void {
    this.#child.unref();
    for (const stream of [this.#child.stdout, this.#child.stderr])
      if (stream instanceof Socket) stream.unref();
  }

  async #whenStarted({ startedText, output }: VmSettings): Promise<void> {
    let seen = '';
    const file = createWriteStream(output, { flags: 'a' });
    file.on('error', () => {}); // the folder is gone, and with it who would read
    const text = new Promise<void>((resolve) => {
      const take = (chunk: Buffer): void => {
        file.write(chunk);
        if (seen.includes(startedText)) return;
        seen += chunk.toString();
        if (seen.includes(startedText)) resolve();
      };
      this.#child.stdout?.on('data', take).once('close', () => file.end());
      this.#child.stderr?.on('data', take);
    });
    const failed = this.ended.then(() => {
      throw new Error(`The Erlang VM ended before it had started:\n${seen.slice(-4000)}`);
    });
    await within('The start of the Erlang VM', START_LIMIT_MS, Promise.race([text, failed]));
    failed.catch(() => {}); // a later end is no failure of the start
  }
}
