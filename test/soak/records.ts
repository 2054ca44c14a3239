import { appendFileSync, readFileSync } from 'node:fs';

/** What a process of the soak writes down at once, so that its death takes nothing of it away. Times are epoch milliseconds. */
export type SoakRecord =
  | { readonly is: 'sent'; readonly at: number; readonly id: string; readonly way: Way }
  /** Of what was sent: the promise has resolved, or rejected with this. */
  | { readonly is: 'settled'; readonly at: number; readonly id: string; readonly failure?: Failure }
  /** A server is about to take it from the broker: its journal. */
  | { readonly is: 'taken'; readonly at: number; readonly id: string }
  /** Its handler runs. */
  | { readonly is: 'begun'; readonly at: number; readonly id: string }
  /** A listener's endpoint has handled it to the end. */
  | { readonly is: 'handled'; readonly at: number; readonly id: string }
  /** A server lost the broker before it was sure to have taken something, and does not run it. */
  | { readonly is: 'gone'; readonly at: number }
  /** The heap in use, after a collection. */
  | { readonly is: 'heap'; readonly at: number; readonly bytes: number }
  /** An unhandled rejection, or an exception that nobody caught. */
  | { readonly is: 'unhandled'; readonly at: number; readonly text: string };

export type Way = 'call' | 'cast' | 'notification';

/** What a promise was rejected with. */
export interface Failure {
  readonly code: string;
  /** May it have run? As the error says. */
  readonly outcome: string | undefined;
  readonly text: string;
}

/** A record without its time, which the writer knows. */
export type Noted = {
  [Is in SoakRecord['is']]: Omit<Extract<SoakRecord, { is: Is }>, 'at'>;
}[SoakRecord['is']];

/** Takes what is to be written down. */
export interface Notebook {
  note(noted: Noted): void;
}

/** A file of records, one a line. It is never closed: handlers may outlive the transport that was taken from them. */
export function notebook(path: string): Notebook {
  return {
    note: (noted) => {
      appendFileSync(path, `${JSON.stringify({ at: Date.now(), ...noted })}\n`);
    },
  };
}

/** Those of a file, in order; the last line may be cut off by a death in the middle of it. */
export function readRecords(path: string): readonly SoakRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  lines.pop();
  return lines.map((line) => JSON.parse(line) as SoakRecord); // nobody else writes there
}

/** What is to be noted of a rejection. */
export function failureOf(error: unknown): Failure {
  const { code, outcome } = error as { readonly code?: unknown; readonly outcome?: unknown }; // as our errors have them
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: typeof code === 'string' ? code : '',
    outcome: typeof outcome === 'string' ? outcome : undefined,
    text: text.slice(0, 300),
  };
}
