import { checkLogger, type Logger, type MaybePromise, refuseUnknown, silentLogger } from '@ebbgate/core';
import { describeError } from './describe-error.js';
import type { DrainReport } from './drain-report.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { isProgram } from './program-end.js';
import type { Service } from './service.js';
import type { ServiceSnapshot } from './snapshot.js';
import { type SupervisorNotices, type SupervisorStatus, tellSupervisor } from './supervisor-notices.js';

/** The signals that a launcher understands. */
export type LaunchSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGALRM';

/** Makes the service while the signals are heard already; the signal aborts when there is no need for it any more. */
export type ServiceFactory = (signal: AbortSignal) => MaybePromise<Service>;

/** How a service is run as a program. */
export interface LaunchOptions {
  /** Which signals of the process are handled; default all four, none with `[]`. */
  readonly signals?: readonly LaunchSignal[];
  /** Reads the configuration again, at SIGHUP while the service runs. What it throws is logged. */
  readonly onReload?: () => MaybePromise<void>;
  /**
   * What comes after a service that has ended by itself, and not by a signal: another one, which takes its place in the
   * same program, or the exit code. Default: the exit code that the report tells.
   */
  readonly next?: (report: DrainReport) => MaybePromise<Service | number | undefined>;
  /** Ends the program; default: once what was printed is out, `process.exit`. */
  readonly exit?: (code: number) => MaybePromise<void>;
  /** Default: none. */
  readonly logger?: Logger;
}

/** A service that runs as a program. */
export interface Launched {
  /** Does what the signal handlers do: the same path, without a signal. */
  terminate(signal: LaunchSignal): void;
  /** Resolves with the exit code when the service has ended. */
  readonly done: Promise<number>;
}

/** As a record, so that the compiler says when one is missing. */
const OPTIONS: Readonly<Record<keyof LaunchOptions, true>> = {
  signals: true,
  onReload: true,
  next: true,
  exit: true,
  logger: true,
};
const ALL_SIGNALS: readonly LaunchSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGALRM'];
/** A reader that does not read must not keep the process from ending. */
const FLUSH_MS = 1_000;
/** A factory that was told to stop gets so long. */
const FACTORY_MS = 10_000;
const TOO_LONG: unique symbol = Symbol('too long');
const FOREVER_MS = 2_147_483_647;

/**
 * Starts a service and sees to its end: SIGTERM and the first SIGINT drain it, at any moment from here on; a further
 * SIGTERM changes nothing; a SIGINT during a drain ends the process at once; SIGHUP reads the configuration again, and
 * does nothing in a drain; SIGALRM is the end of the time for everything, at whatever moment. The exit code tells what came of it: see {@link exitCodes}. Keeps the process alive
 * meanwhile, also when nobody reads its output any more. Unhandled rejections and exceptions are left to Node.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown option
 * @example
 * launch(service, { logger, onReload: () => config.reload() });
 */
export function launch(service: Service | ServiceFactory, options: LaunchOptions = {}): Launched {
  refuseUnknown(options, Object.keys(OPTIONS));
  return new Launcher(service, options);
}

class Launcher implements Launched {
  readonly done: Promise<number>;
  readonly #options: LaunchOptions;
  readonly #logger: Logger;
  readonly #handlers: ReadonlyMap<LaunchSignal, () => void>;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #building = new AbortController();
  readonly #notices: SupervisorNotices | undefined;
  #settle: (code: number) => void = () => undefined;
  #service: Service | undefined;
  /** The signal that asked for the drain. */
  #asked: LaunchSignal | undefined;
  #ended = false;
  #reloads: Promise<void> = Promise.resolve();

  constructor(service: Service | ServiceFactory, options: LaunchOptions) {
    this.#options = options;
    this.#logger = checkLogger(options.logger ?? silentLogger);
    this.#keepAlive = setInterval(() => undefined, FOREVER_MS);
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const handler = (signal: LaunchSignal) => [signal, (): void => this.terminate(signal)] as const;
    this.#handlers = new Map((options.signals ?? ALL_SIGNALS).map(handler));
    for (const [signal, handle] of this.#handlers) process.on(signal, handle);
    // Without signals the program is another's.
    if (this.#handlers.size > 0)
      this.#notices = tellSupervisor(() => this.#status, process.env, this.#logger);
    keepOutputErrorsAway();
    void this.#run(service);
  }

  terminate(signal: LaunchSignal): void {
    if (this.#ended) return;
    if (signal === 'SIGHUP') this.#reload();
    else if (signal === 'SIGALRM') this.#expire();
    else if (!this.#isEnding) this.#end(signal);
    else if (signal === 'SIGINT') this.#endAtOnce();
    else {
      this.#asked ??= signal; // nothing takes the place of what ends now
      this.#logger.info({ signal }, 'The drain is under way already');
    }
  }

  /** Something has asked for the end: a signal, or a drain by other means. */
  get #isEnding(): boolean {
    const state = this.#service?.state;
    return this.#asked !== undefined || state === 'draining' || state === 'exited';
  }

  get #status(): SupervisorStatus {
    const snapshot = this.#service?.snapshot();
    if (this.#isEnding) return { phase: 'stopping', text: drainText(snapshot) };
    if (snapshot?.state === 'running') return { phase: 'ready', text: 'Serving' };
    const reason = snapshot?.reason ?? null;
    if (reason !== null) return { phase: 'ready', text: `Waiting: ${reason}` };
    return { phase: 'starting', text: 'Starting' };
  }

  #end(signal: LaunchSignal): void {
    this.#asked = signal;
    this.#notices?.update();
    this.#building.abort();
    void this.#service?.drain(signal);
  }

  /** Nothing is waited for any more; what is left is written down and told, as at the overall time-out. */
  #expire(): void {
    this.#tellLeft('SIGALRM', 'SIGALRM: the time for everything is over');
    this.#asked ??= 'SIGALRM';
    this.#notices?.update();
    this.#building.abort();
    if (this.#service) void this.#service.expire('SIGALRM');
    else void this.#exit(exitCodes.timedOut, true);
  }

  #tellLeft(signal: LaunchSignal, text: string): void {
    const left = this.#service?.registry.snapshot() ?? [];
    this.#logger.warn({ signal, left: left.length, tasks: left }, text);
  }

  #endAtOnce(): void {
    this.#tellLeft('SIGINT', 'SIGINT during the drain: ending at once');
    void this.#exit(exitCodes.interrupted, false);
    this.#service?.cutOff(); // in a process that goes on nothing of it is left
  }

  #reload(): void {
    const { onReload } = this.#options;
    if (this.#isEnding || !onReload) {
      this.#logger.info(
        { signal: 'SIGHUP' },
        this.#isEnding ? 'No reload while draining' : 'There is nothing to reload',
      );
      return;
    }
    this.#reloads = this.#reloads
      .then(async () => {
        if (this.#isEnding) return;
        await onReload();
        this.#logger.info({ signal: 'SIGHUP' }, 'The configuration has been read again');
      })
      .catch((error: unknown) => {
        this.#logger.error(
          { error: describeError(error) },
          'The configuration could not be read again; the old one stays',
        );
      });
  }

  async #run(service: Service | ServiceFactory): Promise<void> {
    const code = typeof service === 'function' ? await this.#build(service) : await this.#serve(service);
    await this.#exit(code, true);
  }

  async #build(factory: ServiceFactory): Promise<number> {
    const built = (async () => factory(this.#building.signal))();
    built.catch(() => undefined); // heard below, or too late
    try {
      const service = await Promise.race([built, this.#tooLong()]);
      return service === TOO_LONG ? exitCodes.timedOut : await this.#serve(service);
    } catch (error) {
      if (this.#isEnding) return exitCodes.clean; // it was told to stop, and nothing had begun
      this.#logger.error({ error: describeError(error) }, 'The service could not be made');
      return exitCodes.startFailed;
    }
  }

  /** Resolves some time after a signal has asked for the end, if there is no service until then. */
  #tooLong(): Promise<typeof TOO_LONG> {
    return new Promise((resolve) => {
      this.#building.signal.addEventListener('abort', () => {
        if (this.#service) return;
        setTimeout(() => {
          resolve(TOO_LONG);
        }, FACTORY_MS).unref();
      });
    });
  }

  /** From here to the end; a start that fails drains too, and says so in the report. */
  async #serve(service: Service): Promise<number> {
    this.#service = service;
    isProgram(service, this.done);
    for (const event of ['state', 'step'] as const) service.events.on(event, () => this.#notices?.update());
    if (this.#asked) void service.drain(this.#asked);
    else service.start().catch(() => undefined); // logged by the service, and told by the report
    const report = await service.exited;
    const next = this.#asked ? undefined : await this.#options.next?.(report);
    return typeof next === 'object' ? this.#serve(next) : (next ?? exitCodeOf(report));
  }

  async #exit(code: number, whenPrinted: boolean): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const { exit } = this.#options;
    try {
      if (exit) {
        await exit(code);
      } else {
        // The handlers stay until here: a supervisor that repeats its signal must not kill what is about to end.
        if (whenPrinted)
          await Promise.race([printed(), new Promise((resolve) => setTimeout(resolve, FLUSH_MS))]);
        process.exit(code);
      }
    } catch (error) {
      this.#logger.error({ error: describeError(error) }, 'The exit hook failed');
      process.exitCode = code;
    } finally {
      clearInterval(this.#keepAlive);
      this.#notices?.end();
      for (const [signal, handle] of this.#handlers) process.off(signal, handle);
      letOutputErrorsThrough();
      this.#settle(code);
    }
  }
}

/** What a drain waits for, in a line. */
function drainText(snapshot: ServiceSnapshot | undefined): string {
  if (!snapshot || snapshot.state !== 'draining') return 'Stopping';
  const { step, tasks, budgetLeftMs } = snapshot;
  const left = budgetLeftMs === null ? '' : `, ${String(Math.ceil(budgetLeftMs / 1000))} s left at most`;
  return `Draining: ${step ?? 'begins'}, ${String(tasks.length)} tasks run${left}`;
}

/** Launched and not ended. They share one listener: a process may have many. */
let programs = 0;

function keepOutputErrorsAway(): void {
  programs += 1;
  if (programs > 1) return;
  for (const output of [process.stdout, process.stderr]) output.on('error', lostOutput);
}

function letOutputErrorsThrough(): void {
  programs -= 1;
  if (programs > 0) return;
  for (const output of [process.stdout, process.stderr]) output.off('error', lostOutput);
}

/** What is printed is lost when its reader has gone or its disk is full: no reason to break off what runs. */
function lostOutput(): void {
  // Node ends the process only when nobody listens.
}

/** Resolves when everything printed so far has been handed to the system, or cannot be. */
async function printed(): Promise<void> {
  const flush = (stream: NodeJS.WriteStream): Promise<void> =>
    new Promise((resolve) => {
      if (stream.destroyed || stream.writableEnded) resolve();
      else {
        stream.write('', () => {
          resolve();
        });
      }
    });
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
}
