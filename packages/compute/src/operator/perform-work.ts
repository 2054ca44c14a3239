import { ConfigurationError, MessagingError } from '@ebbgate/core';
import type { Terminal } from './terminal.js';
import { type Operated, OperatorError, OperatorUsageError, type Work } from './work.js';

/** Exit codes of the commands of an operator. */
export const OPERATOR_EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Does what was asked for; what went wrong is told in words. Resolves with the exit code; never rejects. */
export async function performWork(work: Work, cloud: Operated, terminal: Terminal): Promise<number> {
  try {
    await work(cloud, terminal);
    return OPERATOR_EXIT.done;
  } catch (error) {
    if (terminal.signal.aborted) return OPERATOR_EXIT.interrupted;
    return failWith(error, terminal);
  }
}

/** Tells what went wrong; gives the exit code. */
export function failWith(error: unknown, terminal: Terminal): number {
  terminal.err(`${describeError(error)}\n`);
  const isUsage = error instanceof OperatorUsageError || error instanceof ConfigurationError;
  return isUsage ? OPERATOR_EXIT.usage : OPERATOR_EXIT.failed;
}

/** For an operator: no stack for what is no fault of this program. */
function describeError(error: unknown): string {
  if (error instanceof MessagingError && error.code === 'ERR_TIMEOUT') {
    return `error: No answer: ${error.message}. Are the broker and a conductor there?`;
  }
  if (error instanceof MessagingError || error instanceof OperatorError) return `error: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
