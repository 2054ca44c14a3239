import { decodeJson, encodePlain, type Logger, type PlainValue } from '@ebbgate/core';
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A request as it came, before its arguments were read. */
export interface JournalEntry {
  /** Of the message: the same when that is delivered again. */
  readonly id: string;
  /** Name of the method. */
  readonly method: string;
  /** By name, as they travelled. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The members of its context. */
  readonly context: Readonly<Record<string, unknown>>;
  /** How many runs of the host have taken it up before; 0 when it was only accepted. */
  readonly tries: number;
}

/** One line of a journal: a request that was accepted, in place of an earlier one of that id; or the id of one that is done. */
export type JournalChange = { readonly accepted: JournalEntry } | { readonly done: string };

/** Where a host writes what it has accepted and not begun. It outlives the process. */
export interface RequestJournal {
  /** What is accepted and not done, in the order in which it came. */
  entries(): readonly JournalEntry[];
  /** Writes a batch, whole. When it throws nothing of it counts. */
  write(batch: readonly JournalChange[]): void;
}

/** A journal that lives as long as the process: for hosts that have no folder of their own. */
export class MemoryJournal implements RequestJournal {
  readonly #entries = new Map<string, JournalEntry>();

  /** Nothing is open. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  entries(): readonly JournalEntry[] {
    return [...this.#entries.values()];
  }

  write(batch: readonly JournalChange[]): void {
    for (const change of batch) {
      if ('accepted' in change) this.#entries.set(change.accepted.id, change.accepted);
      else this.#entries.delete(change.done);
    }
  }
}

/** The file grows by so many bytes before what is done is left out of it. */
const SLACK_BYTES = 262_144;

/**
 * A journal in a file, a line of JSON for each change. Each batch is one append that the system has when `write` returns: a
 * process that is killed loses nothing; a machine that loses power loses what its system had not yet put on the disk. The
 * file is its owner's alone (mode 600), as requests can hold passwords. It is empty while nothing is open, and never more
 * than twice what is open and 256 KiB.
 */
export class FileJournal implements RequestJournal {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #open = new MemoryJournal();
  #file: number;
  #bytes = 0;
  #limit = 0;

  /** Opens the file, or makes it and its folder. What is no whole line in it was not accepted, and is left out. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#file = openSync(path, 'a', 0o600);
    const lines = readFileSync(path, 'utf8').split('\n');
    const changes = lines.map(readChange);
    this.#open.write(changes.filter((change) => change !== undefined));
    const unread = lines.filter((line, index) => line !== '' && changes[index] === undefined).length;
    if (unread > 0) logger.warn({ path, lines: unread }, 'Lines of the journal of requests are not whole');
    this.#rewrite();
  }

  entries(): readonly JournalEntry[] {
    return this.#open.entries();
  }

  write(batch: readonly JournalChange[]): void {
    // Begins with the end of a line: what was cut off before it stays alone.
    const text = Buffer.from(`\n${batch.map(textOf).join('\n')}`);
    this.#append(text);
    this.#open.write(batch);
    this.#bytes += text.length;
    try {
      this.#tidy();
    } catch (error) {
      this.#logger.warn(
        { err: error, path: this.#path },
        'The journal of requests could not be made smaller',
      );
    }
  }

  #append(text: Buffer): void {
    try {
      appendFileSync(this.#file, text);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`Requests cannot be written down in ${this.#path}, so that none is taken: ${why}`, {
        cause: error,
      });
    }
  }

  #tidy(): void {
    if (this.#open.isEmpty) {
      ftruncateSync(this.#file);
      this.#bytes = 0;
    } else if (this.#bytes > this.#limit) this.#rewrite();
  }

  /** The new file takes the place of the old one in one step. */
  #rewrite(): void {
    const lines = this.entries().map((accepted) => textOf({ accepted }));
    const text = Buffer.from(lines.join('\n'));
    const fresh = `${this.#path}.new`;
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, this.#path);
    closeSync(this.#file);
    this.#file = openSync(this.#path, 'a', 0o600);
    this.#bytes = text.length;
    this.#limit = 2 * text.length + SLACK_BYTES;
  }
}

/** All of it has travelled, so that it is plain; what could not be read again is left out then. */
function textOf(change: JournalChange): string {
  return encodePlain(change as unknown as PlainValue);
}

function readChange(line: string): JournalChange | undefined {
  if (line === '') return undefined;
  let read: unknown;
  try {
    read = decodeJson(line);
  } catch {
    return undefined;
  }
  if (!isRecord(read)) return undefined;
  const { done, accepted } = read;
  if (typeof done === 'string') return { done };
  const entry = readEntry(accepted);
  return entry && { accepted: entry };
}

function readEntry(read: unknown): JournalEntry | undefined {
  if (!isRecord(read)) return undefined;
  const { id, method, args, context, tries } = read;
  if (typeof id !== 'string' || typeof method !== 'string' || typeof tries !== 'number') return undefined;
  if (!isRecord(args) || !isRecord(context)) return undefined;
  return { id, method, args, context, tries };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
