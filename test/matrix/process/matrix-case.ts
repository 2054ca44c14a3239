import type { DaemonEnd } from '../../support/daemon-process.js';
import type { Party, Way } from '../parties.js';
import type { Outcome } from '../table.js';
import type { TransportName } from './broker.js';

/** One run of the matrix. */
export interface MatrixCase {
  readonly flow: string;
  readonly party: Party;
  readonly way: Way;
  /** The number of the message at which it is stopped, from 1. */
  readonly step: number;
  /** False: a negative control, whose hosts have no ops server. */
  readonly opsServer: boolean;
}

/** What is kept of a run. */
export interface MatrixResult extends MatrixCase {
  readonly transport: TransportName;
  /** The message at which it was stopped; null: the flow was over before. */
  readonly message: string | null;
  /** The processes that were stopped, and how they ended. */
  readonly ends: Readonly<Record<string, DaemonEnd>>;
  /** `vm/task@host` in the end, and the status of the last migration. */
  readonly state: string;
  readonly outcome: Outcome;
  readonly problems: readonly string[];
  readonly tookMs: number;
}

/** The command that does a run again. */
export function commandOf({ flow, party, way, step, opsServer, transport }: MatrixResult): string {
  const where = `--flow ${flow} --party ${party} --way ${way} --step ${step}`;
  const on = transport === 'rabbit' ? '' : ` --transport ${transport}`;
  return `npm run matrix -- --processes${on} ${where}${opsServer ? '' : ' --no-ops-server'}`;
}
