import type { Terminal } from '../operator/terminal.js';

/** Can a picture be drawn, and taken back? */
export function canDraw(): boolean {
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb' && process.env['CI'] === undefined;
}

/** The terminal, or whatever else this process writes to; Ctrl-C and SIGTERM abort. A second one ends the process. */
export function localTerminal(): Terminal {
  const { stdout, stderr } = process;
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      abort.abort(new Error(`ended by ${signal}`));
    });
  }
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    screen: canDraw() ? stdout : undefined,
    signal: abort.signal,
  };
}
