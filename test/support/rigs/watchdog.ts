import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Reads until its input ends. A line means "all is well, go". The end without one means that the test process is gone,
 * however it went: then it ends the process, if that number is still the one with this word in its environment, also
 * when it is stopped (SIGSTOP), and removes the folder.
 */
const SCRIPT = `
  read -r line && exit 0
  if grep -qa -- "$2" "/proc/$1/environ" 2>/dev/null; then
    kill -KILL "$1"
    for n in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" 2>/dev/null && sleep 0.1; done
  fi
  rm -rf -- "$3"`;

/** Ends a process and removes its folder should this process die first. */
export interface Watchdog {
  /** To be called as soon as the watched process has ended. */
  dismiss(): void;
}

export interface Watched {
  readonly pid: number;
  /** A word in its environment that no other process has. */
  readonly word: string;
  /** A folder to remove after it. */
  readonly folder: string;
}

export function watchdog(watched: Watched): Watchdog {
  // A session of its own, so that Ctrl-C in a terminal does not reach it.
  const child = spawn('sh', ['-c', SCRIPT, 'sh', String(watched.pid), watched.word, watched.folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  child.stdin.on('error', () => {}); // it has ended before it was dismissed
  return { dismiss: () => child.stdin.end('done\n') };
}
