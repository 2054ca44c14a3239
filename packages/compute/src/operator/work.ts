import type { Command } from 'commander';
import type { RequestContext } from '@ebbgate/core';
import type { RemoteApi } from '../api/remote-api.js';
import type { ServerApi } from '../api/server-api.js';
import type { Records } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { Terminal } from './terminal.js';

/** Who an operator is, where an instance belongs to somebody. */
export const OPERATOR = { userId: 'operator', projectId: 'operator' } as const;

/** The hosts of a cloud in one process, which nobody can end by a signal of their own. */
export interface Machines {
  /** Ends a host in the middle of whatever it does, as the death of its process would; one that does not run is dead already. */
  kill(host: string): Promise<void>;
  /** What SIGTERM does; resolves with the exit code. */
  drain(host: string): Promise<number>;
  /** Begins a new run of a host that has ended; resolves also when that waits, since the host is forced down. */
  start(host: string): Promise<void>;
  /** Has a host look at once at what was said of it, when it runs. */
  tell(host: string): void;
  /** Resolves when a host that was started serves. */
  serves(host: string): Promise<void>;
}

/** What there is in a cloud, whatever its cells. */
export interface CloudView {
  readonly records: Records;
  readonly liveness: Liveness;
}

/** A cloud as an operator has it. */
export interface Operated {
  readonly api: CloudView;
  /** What can be asked of an instance: the cell that it is in. @throws RecordNotFoundError (`ERR_NOT_FOUND`) */
  readonly apiOf: (instanceUuid: string) => Promise<RemoteApi>;
  /** Where a new instance is made: in the cell of this host; null: any. @throws OperatorError, OperatorUsageError */
  readonly apiFor: (host: string | null) => Promise<ServerApi>;
  /** Who asks. */
  readonly context: RequestContext;
  /** Absent: each host is a process, and has its own signals. */
  readonly machines?: Machines | undefined;
}

/** What one command does, once it is known how the cloud is reached. */
export type Work = (cloud: Operated, terminal: Terminal) => Promise<void>;

/** Has a command done where the cloud is. */
export type Perform = (command: Command, work: Work) => Promise<void>;

/** What an operator has asked for cannot be done, or has failed; the message says all. */
export class OperatorError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'OperatorError';
  }
}

/** A command is not as it should be; the message names the option, what it is and what it may be. */
export class OperatorUsageError extends OperatorError {}
