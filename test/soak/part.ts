import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { notebook } from './records.js';
import type { RoleSettings } from './role.js';
import { startRole } from './roles.js';

/** How a run of a role ended: `in order`, `killed`, `closed` (its transport was taken away), or what was wrong. */
export type RunEnd = string;

/** One run of a role. */
export interface Part {
  /** Resolves when it can receive, or has begun to send. */
  readonly ready: Promise<unknown>;
  readonly ended: Promise<RunEnd>;
  /** Sends no more; resolves when all has settled. */
  quiesce(): Promise<void>;
  /** SIGTERM. */
  end(): void;
  /** SIGKILL; in this process its transport is taken away. */
  kill(): void;
}

export type StartPart = (settings: RoleSettings) => Part;

const SCRIPT = new URL('role-main.js', import.meta.url);
/** Longer than any drain. */
const END_LIMIT_MS = 60_000;

/** A process of its own. */
export const processPart: StartPart = (settings) => {
  const child = fork(SCRIPT, [JSON.stringify(settings)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let wrong = '';
  let killed = false;
  let late: NodeJS.Timeout | undefined;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (wrong += text));
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
    clearTimeout(late);
    if (killed) return 'killed';
    return code === 0 ? 'in order' : `ended with ${String(code ?? signal)}: ${wrong.slice(-2_000)}`;
  });
  const there = said(child, 'there'); // from then on a signal ends it in order
  return {
    ready: Promise.race([said(child, 'ready'), ended]),
    ended,
    quiesce: async () => {
      child.send('quiesce');
      await Promise.race([said(child, 'quiet'), ended]);
    },
    end: () => {
      void there.then(() => child.kill('SIGTERM'));
      late = setTimeout(() => {
        wrong += `it did not end within ${END_LIMIT_MS} ms of SIGTERM`;
        child.kill('SIGKILL');
      }, END_LIMIT_MS);
    },
    kill: () => {
      killed = true;
      child.kill('SIGKILL');
    },
  };
};

/** Resolves when it says this word. */
function said(child: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve) => {
    child.on('message', (one) => {
      if (one === word) resolve();
    });
  });
}

/** In this process, for a broker that is in it, too. */
export const localPart: StartPart = (settings) => {
  const notes = notebook(settings.file);
  const role = startRole(settings, [], notes);
  let tell: (end: RunEnd) => void = () => undefined;
  const ended = new Promise<RunEnd>((resolve) => (tell = resolve));
  const over = (work: Promise<void>, how: RunEnd): void => {
    void work
      .then(
        () => how,
        (error: unknown) => `did not end: ${String(error)}`,
      )
      .then((end) => {
        tell(end);
      });
  };
  return {
    ready: role.ready,
    ended,
    quiesce: () => role.quiesce(),
    end: () => {
      over(role.end(), 'in order');
    },
    kill: () => {
      over(role.close(), 'closed');
    },
  };
};
