import type { Run } from './evidence.js';
import { notebook, readRecords } from './records.js';
import { heapInUse } from './role.js';

/** What this process writes down of itself when all roles are in it. */
export interface OwnNotes {
  /** All has settled. */
  idle(): void;
  run(): Run;
  stop(): void;
}

export function ownNotes(file: string, heapEveryMs: number): OwnNotes {
  const notes = notebook(file);
  const heap = setInterval(() => {
    notes.note({ is: 'heap', bytes: heapInUse() });
  }, heapEveryMs);
  const heard = (error: unknown): void => {
    notes.note({ is: 'unhandled', text: error instanceof Error ? String(error.stack) : String(error) });
  };
  process.on('unhandledRejection', heard).on('uncaughtException', heard);
  return {
    idle: () => {
      notes.note({ is: 'heap', bytes: heapInUse() });
    },
    run: () => {
      const records = readRecords(file);
      return { role: 'client', run: 'all in one process', end: 'in order', endedAt: Date.now(), records };
    },
    stop: () => {
      clearInterval(heap);
      process.off('unhandledRejection', heard).off('uncaughtException', heard);
    },
  };
}
