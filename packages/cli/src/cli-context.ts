import type { Readable } from 'node:stream';
import type { MaybePromise } from '@ebbgate/core';
import type { LaunchSignal } from '@ebbgate/service';
import type { Output, OutputStream } from './output.js';

/** What the command needs of the process that it runs in. */
export interface CliEnvironment {
  /** Read when an argument is `-`. */
  readonly stdin: Readable;
  /** For results alone. */
  readonly stdout: OutputStream;
  /** For logs, progress and errors. */
  readonly stderr: OutputStream;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where files and packages are looked for. */
  readonly cwd: string;
  /** Aborts when the command is to end; the reason may be an Interruption, which has the exit code. */
  readonly interrupted?: AbortSignal;
  /** Called by `serve` when it begins to listen to signals itself. */
  readonly releaseSignals?: () => void;
  /** The signals of the process that `serve` drains on; default all. */
  readonly signals?: readonly LaunchSignal[];
  /** Ends the process after `serve`; default: `process.exit` when everything is printed. */
  readonly exit?: (code: number) => MaybePromise<void>;
}

/** What a command works with. */
export interface CliContext extends CliEnvironment {
  readonly output: Output;
  readonly interrupted: AbortSignal;
  /** The exit code of a command that did not throw. */
  exitCode: number;
}
