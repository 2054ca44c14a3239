import type { Logger } from '@ebbgate/core';
import {
  exitCodes,
  type LaunchSignal,
  type SupervisorNotices,
  type SupervisorStatus,
  tellSupervisor,
} from '@ebbgate/service';

/** Something that runs, drains and ends: a service of this process, or a worker process. */
export interface Part {
  readonly name: string;
  /** Resolves with its exit code; never rejects. */
  readonly ended: Promise<number>;
  /** What SIGTERM does. @param withinMs - what is left of the time for all; Infinity: no limit */
  drain(withinMs: number): void;
  /** What SIGINT does during a drain. */
  endAtOnce(): void;
  /** What SIGHUP does. */
  reload(): void;
}

/** What a supervisor watches over. */
export interface SupervisorOptions {
  /** What drains together; each stage begins when the one before it has ended. */
  readonly stages: readonly (readonly Part[])[];
  /** For the drain of all; 0: no limit. */
  readonly gracefulShutdownTimeoutMs: number;
  readonly logger: Logger;
}

const SIGNALS: readonly LaunchSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGALRM'];

/** The worst of several exit codes is told: what ended by the time limit, then what left work, then what did not start. */
const WORST_FIRST: readonly number[] = [
  exitCodes.interrupted,
  exitCodes.timedOut,
  exitCodes.unfinished,
  exitCodes.startFailed,
];

/**
 * Runs several parts as one program, with the signals of every service: SIGTERM and the first SIGINT drain, a further
 * SIGTERM changes nothing, a SIGINT during the drain ends all at once, SIGHUP reloads, SIGALRM is the time limit. The parts drain in stages, so that
 * what others need ends last, and all of them share one time limit.
 */
export class Supervisor {
  /** Resolves with the exit code when all parts have ended. */
  readonly done: Promise<number>;
  readonly #options: SupervisorOptions;
  readonly #codes: number[] = [];
  readonly #notices: SupervisorNotices;
  #state: 'starting' | 'running' | 'draining' | 'ended' = 'starting';
  #timer: NodeJS.Timeout | undefined;
  #settle: (code: number) => void = () => undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#notices = tellSupervisor(() => this.#status, process.env, options.logger);
    for (const part of options.stages.flat()) void this.#watch(part);
  }

  /** All parts serve. */
  serves(): void {
    if (this.#state === 'starting') this.#become('running');
  }

  /** From now on the signals of the process are for it. */
  hearSignals(): void {
    for (const signal of SIGNALS) process.on(signal, () => this.terminate(signal));
  }

  terminate(signal: LaunchSignal): void {
    if (signal === 'SIGHUP') this.#reload();
    else if (signal === 'SIGALRM') this.#expire();
    else if (this.#isUp) void this.drain(signal);
    else if (this.#state === 'draining' && signal === 'SIGINT') this.#endAtOnce(exitCodes.interrupted);
    else this.#options.logger.info({ signal }, 'The drain is under way already');
  }

  /** Drains all, stage by stage. */
  async drain(reason: string): Promise<void> {
    if (!this.#isUp) return;
    this.#become('draining');
    const { stages, gracefulShutdownTimeoutMs: limitMs, logger } = this.#options;
    logger.info({ reason }, `Draining ${String(stages.flat().length)} parts: ${reason}`);
    const endsAt = limitMs === 0 ? Infinity : performance.now() + limitMs;
    if (limitMs > 0) {
      this.#timer = setTimeout(() => {
        this.#endAtOnce(exitCodes.timedOut);
      }, limitMs);
    }
    for (const stage of stages) {
      for (const part of stage) part.drain(endsAt - performance.now());
      this.#codes.push(...(await Promise.all(stage.map(({ ended }) => ended))));
      this.#notices.update();
      if (this.#isEnded) return; // all at once, meanwhile
    }
    this.#end(WORST_FIRST.find((code) => this.#codes.includes(code)) ?? exitCodes.clean);
  }

  get #isUp(): boolean {
    return this.#state === 'starting' || this.#state === 'running';
  }

  get #status(): SupervisorStatus {
    const parts = String(this.#options.stages.flat().length);
    if (this.#state === 'starting') return { phase: 'starting', text: `Starting ${parts} parts` };
    if (this.#state === 'running') return { phase: 'ready', text: `${parts} parts serve` };
    return {
      phase: 'stopping',
      text: `Draining: ${String(this.#codes.length)} of ${parts} parts have ended`,
    };
  }

  #become(state: 'running' | 'draining' | 'ended'): void {
    this.#state = state;
    this.#notices.update();
  }

  get #isEnded(): boolean {
    return this.#state === 'ended';
  }

  #reload(): void {
    if (!this.#isUp) return;
    for (const part of this.#options.stages.flat()) part.reload();
  }

  /** A part that ends by itself is told; when it could not start, or has drained, the others have no more use. */
  async #watch({ name, ended }: Part): Promise<void> {
    const code = await ended;
    if (!this.#isUp) return;
    this.#options.logger.error({ part: name, code }, `${name} has ended by itself: ending the others`);
    await this.drain(`${name} has ended`);
  }

  /** What the end of the time for all does, now. */
  #expire(): void {
    void this.drain('SIGALRM');
    this.#endAtOnce(exitCodes.timedOut);
  }

  #endAtOnce(code: number): void {
    if (this.#state === 'ended') return;
    this.#options.logger.warn({ code }, 'Ending all parts at once');
    for (const part of this.#options.stages.flat()) part.endAtOnce();
    this.#end(code);
  }

  #end(code: number): void {
    this.#become('ended');
    this.#notices.end();
    clearTimeout(this.#timer);
    this.#settle(code);
  }
}
