import { type ChildProcess, fork } from 'node:child_process';
import type { Logger } from '@ebbgate/core';
import { exitCodes } from '@ebbgate/service';
import type { Part } from './supervisor.js';

/** How a worker is started. */
export interface WorkerOptions {
  readonly name: string;
  /** Path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  readonly logger: Logger;
  /** It is started when this resolves; default: at once. */
  readonly after?: Promise<void>;
}

/** What a worker tells the process that has started it. */
export interface WorkerMessage {
  readonly kind: 'serves';
}

/** Until a worker that has died is started again; twice as long after each death, up to the limit. */
const RESTART_MS = { first: 500, most: 30_000 } as const;

/**
 * One of several processes that share the work of a topic. One that dies is started again; one that cannot start at first
 * ends the program, since it would not later either.
 */
export class Worker implements Part {
  readonly name: string;
  readonly ended: Promise<number>;
  /** Resolves when it serves for the first time; never, when it cannot. */
  readonly serves: Promise<void>;
  readonly #options: WorkerOptions;
  /** Undefined while there is no process: it is not started yet, or waits to be started again. */
  #child: ChildProcess | undefined;
  #state: 'starting' | 'serving' | 'draining' = 'starting';
  /** The present process has said that it serves. */
  #hasServed = false;
  /** It is to be reloaded once it serves: until it listens to signals SIGHUP would kill it. */
  #reloadsLater = false;
  #restartMs: number = RESTART_MS.first;
  #timer: NodeJS.Timeout | undefined;
  #settleEnded: (code: number) => void = () => undefined;
  #settleServes: () => void = () => undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.name = options.name;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
    this.serves = new Promise((resolve) => {
      this.#settleServes = resolve;
    });
    if (options.after) void options.after.then(() => this.#start());
    else this.#start();
  }

  /** Its time limit is its own, that of all is the supervisor's to keep. */
  drain(): void {
    this.#state = 'draining';
    clearTimeout(this.#timer);
    if (this.#child) this.#child.kill('SIGTERM');
    else this.#settleEnded(exitCodes.clean); // there is none, and it need not come
  }

  endAtOnce(): void {
    this.#state = 'draining';
    this.#child?.kill('SIGTERM');
    this.#child?.kill('SIGINT');
  }

  reload(): void {
    if (this.#hasServed) this.#child?.kill('SIGHUP');
    else this.#reloadsLater = true;
  }

  #start(): void {
    if (this.#state === 'draining') return;
    const { program, args } = this.#options;
    // In a process group of its own: Ctrl-C is for the supervisor to hear, which tells its workers in their order.
    const child = fork(program, [...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    // There is one kind of message only.
    child.on('message', () => {
      if (this.#state === 'starting') this.#state = 'serving';
      this.#hasServed = true;
      this.#restartMs = RESTART_MS.first;
      this.#settleServes();
      if (this.#reloadsLater) child.kill('SIGHUP');
      this.#reloadsLater = false;
    });
    child.on('error', (error) => {
      this.#options.logger.error({ err: error, worker: this.name }, 'A worker cannot be told anything');
    });
    child.on('exit', (code, signal) => {
      this.#child = undefined;
      this.#onExit(code, signal);
    });
    this.#child = child;
    this.#hasServed = false;
    this.#reloadsLater = false;
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    const { logger } = this.#options;
    if (this.#state === 'draining') {
      // Before it listens to signals SIGTERM kills it, and nothing had begun then (GS-104).
      const early = signal === 'SIGTERM' && !this.#hasServed;
      this.#settleEnded(code ?? (early ? exitCodes.clean : exitCodes.unfinished));
    } else if (this.#state === 'starting') {
      logger.error({ worker: this.name, code, signal }, 'A worker could not start');
      this.#settleEnded(code === null || code === exitCodes.clean ? exitCodes.startFailed : code);
    } else {
      const delayMs = this.#restartMs;
      logger.error({ worker: this.name, code, signal, delayMs }, 'A worker has died; it is started again');
      this.#restartMs = Math.min(delayMs * 2, RESTART_MS.most);
      this.#timer = setTimeout(() => {
        this.#start();
      }, delayMs);
    }
  }
}
