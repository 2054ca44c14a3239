import type { Writable } from 'node:stream';
import { cliExitCodes, exitCodeFor, Interruption } from './exit-codes.js';
import { describeFailure } from './failure-report.js';
import { jsonText } from './json-text.js';

/** A stream that may be a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean };

/**
 * All that the command says: results to stdout and nothing else; progress, logs and errors to stderr. As JSON
 * everything is one object a line. A reader that goes away ends the output, never the process.
 */
export class Output {
  readonly json: boolean;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #gone = new Set<OutputStream>();
  readonly #stdoutGone = new AbortController();
  #failure: Error | undefined;
  #overwriting = false;

  constructor(stdout: OutputStream, stderr: OutputStream, json: boolean) {
    this.json = json;
    this.#stdout = stdout;
    this.#stderr = stderr;
    for (const stream of [stdout, stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        this.#onError(stream, error);
      });
    }
  }

  /** Aborts when nobody reads stdout any more; the reason is an {@link Interruption}. */
  get stdoutGone(): AbortSignal {
    return this.#stdoutGone.signal;
  }

  /** Why results could not be written (a full disk, say); undefined when they could, or when nobody wanted them. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Progress can be drawn over and over. */
  get canOverwrite(): boolean {
    return this.#stderr.isTTY === true && !this.json;
  }

  /** The result of the command: JSON in either case, indented for people. */
  result(value: unknown): void {
    this.#write(this.#stdout, `${jsonText(value, this.json ? 0 : 2)}\n`);
  }

  /** One line of results: text for people, an object for programs. */
  line(text: string, event: object): void {
    this.#write(this.#stdout, `${this.json ? jsonText(event) : text}\n`);
  }

  /** One line about the result. */
  note(text: string, event: object): void {
    this.#write(this.#stderr, `${this.json ? jsonText(event) : text}\n`);
  }

  /** Text as it is, for help. */
  text(text: string, to: 'stdout' | 'stderr'): void {
    this.#write(to === 'stdout' ? this.#stdout : this.#stderr, text);
  }

  /** Draws over the last line of this kind; for terminals. */
  overwrite(text: string): void {
    this.#write(this.#stderr, `\r\u001b[K${text}`);
    this.#overwriting = text !== '';
  }

  /** Tells of an error, on one line. Returns the exit code for it. */
  fail(command: string, error: unknown): number {
    const exitCode = exitCodeFor(error);
    if (exitCode === cliExitCodes.outputClosed) return exitCode;
    const { text, report } = describeFailure(error, exitCode);
    this.note(`${command}: ${text}`, { error: report });
    return exitCode;
  }

  /** Resolves when everything is written, or cannot be. */
  async flush(): Promise<void> {
    for (const stream of [this.#stdout, this.#stderr]) {
      if (this.#gone.has(stream)) continue;
      await new Promise<void>((resolve) => {
        stream.write('', () => {
          resolve();
        });
      });
    }
  }

  #write(stream: OutputStream, text: string): void {
    if (this.#gone.has(stream)) return;
    const clear = this.#overwriting && !text.startsWith('\r') ? '\r\u001b[K' : '';
    this.#overwriting = this.#overwriting && clear === '';
    if (clear !== '') this.#stderr.write(clear);
    stream.write(text);
  }

  #onError(stream: OutputStream, error: NodeJS.ErrnoException): void {
    this.#gone.add(stream);
    if (stream !== this.#stdout) return;
    const closed = error.code === 'EPIPE';
    if (!closed) this.#failure = error;
    this.#stdoutGone.abort(
      new Interruption(
        closed ? 'Nobody reads the output' : 'The output cannot be written',
        closed ? cliExitCodes.outputClosed : cliExitCodes.unexpected,
      ),
    );
  }
}
