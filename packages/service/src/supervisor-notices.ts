import { spawn } from 'node:child_process';
import { checkLogger, type Logger } from '@ebbgate/core';
import { describeError } from './describe-error.js';

/** How a program does, for whoever supervises it. */
export interface SupervisorStatus {
  /** `starting` and `stopping` are waited for; `ready`: it serves, or waits for something that may never come. */
  readonly phase: 'starting' | 'ready' | 'stopping';
  /** One line for people, as `systemctl status` shows it. */
  readonly text: string;
}

/** Tells a supervisor what becomes of a program. */
export interface SupervisorNotices {
  /** Looks again, and tells what is new. */
  update(): void;
  /** Tells nothing more. */
  end(): void;
}

/** How often a program that starts or stops says that it is still at it. */
const EVERY_MS = 10_000;
/** What it asks for each time, so that a word may be late. */
const EXTENSION_USEC = 30_000_000;
const NONE: SupervisorNotices = { update: () => undefined, end: () => undefined };

/**
 * Tells systemd, when it runs this program as `Type=notify`: `READY=1` when it serves, `STOPPING=1` when its end has begun,
 * `STATUS` whenever that changes, and `EXTEND_TIMEOUT_USEC`, 30 s every 10 s, for as long as it starts or stops: so
 * `TimeoutStopSec=` bounds a program that hangs, and not a drain (sd_notify(3)). It is said by `systemd-notify`, which is a
 * process of its own: the unit needs `NotifyAccess=all`. Does nothing where there is no `NOTIFY_SOCKET`, and takes it out of
 * the environment where there is one, since what this program starts is not the service.
 *
 * @param look - gives what is so now
 * @param env - of this process
 */
export function tellSupervisor(
  look: () => SupervisorStatus,
  env: NodeJS.ProcessEnv,
  logger: Logger,
): SupervisorNotices {
  const theirs = { ...env };
  delete env['NOTIFY_SOCKET'];
  if ((theirs['NOTIFY_SOCKET'] ?? '') === '') return NONE;
  const notices = new SystemdNotices(look, theirs, checkLogger(logger));
  notices.update();
  return notices;
}

/**
 * At most one `systemd-notify` at a time: what has changed meanwhile is told by the next. But for the first word of an end,
 * which may be over before that.
 */
class SystemdNotices implements SupervisorNotices {
  readonly #look: () => SupervisorStatus;
  readonly #logger: Logger;
  readonly #env: NodeJS.ProcessEnv;
  readonly #timer: NodeJS.Timeout;
  #told: Partial<SupervisorStatus> = {};
  #state: 'idle' | 'telling' | 'to tell again' | 'ended' = 'idle';

  constructor(look: () => SupervisorStatus, env: NodeJS.ProcessEnv, logger: Logger) {
    this.#look = look;
    this.#env = env;
    this.#logger = logger;
    this.#timer = setInterval(() => {
      this.update();
    }, EVERY_MS);
    this.#timer.unref();
  }

  update(): void {
    if (this.#state === 'ended') return;
    const now = this.#look();
    const isEnd = now.phase === 'stopping' && this.#told.phase !== 'stopping';
    if (this.#state !== 'idle' && !isEnd) {
      this.#state = 'to tell again';
      return;
    }
    const words = [...this.#news(now)];
    this.#told = now;
    if (words.length > 0) this.#tell(words);
  }

  end(): void {
    this.#state = 'ended';
    clearInterval(this.#timer);
  }

  *#news({ phase, text }: SupervisorStatus): Iterable<string> {
    if (phase !== this.#told.phase && phase === 'ready') yield 'READY=1';
    if (phase !== this.#told.phase && phase === 'stopping') yield 'STOPPING=1';
    if (text !== this.#told.text) yield `STATUS=${text.replaceAll(/\p{Cc}/gu, ' ')}`;
    if (phase !== 'ready') yield `EXTEND_TIMEOUT_USEC=${String(EXTENSION_USEC)}`;
  }

  #tell(words: readonly string[]): void {
    this.#state = 'telling';
    const child = spawn('systemd-notify', words, { stdio: 'ignore', env: this.#env });
    child.unref(); // the end of the program does not wait for it
    child.once('error', (error) => {
      this.#logger.warn(
        { error: describeError(error) },
        'systemd is told nothing: systemd-notify cannot be run',
      );
      this.end();
    });
    child.once('exit', () => {
      const again = this.#state === 'to tell again';
      if (this.#state !== 'ended') this.#state = 'idle';
      if (again) this.update();
    });
  }
}
