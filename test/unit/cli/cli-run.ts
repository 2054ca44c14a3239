import { Readable, Writable } from 'node:stream';
import { type CliEnvironment, runCli } from '@ebbgate/cli';

/** What one command came to. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A stream that keeps what is written to it. */
export class Kept extends Writable {
  text = '';
  onText: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
    if (chunk.length > 0) this.onText?.();
  }
}

/** Runs a command in this process, as `ebbgate` does in its own. */
export async function cli(argv: readonly string[], environment: Partial<CliEnvironment> = {}): Promise<Ran> {
  const stdout = new Kept();
  const stderr = new Kept();
  const code = await runCli(argv, {
    stdin: Readable.from([]),
    stdout,
    stderr,
    env: {},
    cwd: import.meta.dirname,
    signals: [],
    exit: () => undefined,
    ...environment,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** The objects of JSON lines. */
export function objects(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
