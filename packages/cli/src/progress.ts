import type { Output } from './output.js';

/** What there is to tell right now. */
export interface ProgressReport {
  readonly text: string;
  readonly event: object;
}

const ON_TERMINAL_MS = 250;
const IN_LINES_MS = 5_000;

/**
 * Tells on stderr how far long work is: drawn over and over on a terminal, a line every five seconds elsewhere.
 * @returns ends it
 */
export function showProgress(output: Output, look: () => ProgressReport): () => void {
  const onTerminal = output.canOverwrite;
  const timer = setInterval(
    () => {
      const { text, event } = look();
      if (onTerminal) output.overwrite(text);
      else output.note(text, { progress: event });
    },
    onTerminal ? ON_TERMINAL_MS : IN_LINES_MS,
  );
  return () => {
    clearInterval(timer);
    if (onTerminal) output.overwrite('');
  };
}
