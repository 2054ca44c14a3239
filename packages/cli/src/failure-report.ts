import { MessagingError, redactedCause, redactText } from '@ebbgate/core';
import { RemoteError, ValidationError } from '@ebbgate/rpc';
import { lineText } from './json-text.js';

/** An error as programs get it. Members that do not apply are left out. */
export interface FailureReport {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  /** May the request have run? */
  readonly outcome?: string;
  readonly exitCode: number;
  readonly remoteType?: string;
  readonly remoteModule?: string;
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  /** What lay below, in words. */
  readonly causes?: readonly string[];
}

/** Deepest chain of causes that is told. */
const MOST_CAUSES = 5;

/** What is said of an error: one line for people, an object for programs. Without credentials (SEC-04). */
export function describeFailure(error: unknown, exitCode: number): { text: string; report: FailureReport } {
  const report = readableReport(error, exitCode);
  const maybeRan = report.outcome === 'unknown' ? ' (the request may have run)' : '';
  const causes = report.causes?.map((cause) => `; because: ${cause}`).join('') ?? '';
  return { text: lineText(`${report.message}${causes}${maybeRan} [${report.code}]`), report };
}

/** Modules of the user's may throw anything, also what throws in its turn when it is looked at. */
function readableReport(error: unknown, exitCode: number): FailureReport {
  try {
    return reportOf(error, exitCode);
  } catch {
    return reportOf(redactedCause(error), exitCode);
  }
}

function reportOf(error: unknown, exitCode: number): FailureReport {
  if (!(error instanceof Error))
    return { code: 'ERR_UNEXPECTED', name: 'Error', message: redactText(String(error)), exitCode };
  const causes = causesOf(error);
  return {
    code: codeOf(error),
    name: error.name,
    message: redactText(error.message),
    ...(error instanceof MessagingError && { outcome: error.outcome }),
    exitCode,
    ...(error instanceof RemoteError && { remoteType: error.remoteType, remoteModule: error.remoteModule }),
    ...(error instanceof ValidationError && { issues: error.issues }),
    ...(causes.length > 0 && { causes }),
  };
}

/** Node's errors have a code of their own, as ours do. */
export function codeOf(error: Error): string {
  const code: unknown = (error as { code?: unknown }).code; // may be there or not
  return typeof code === 'string' ? code : 'ERR_UNEXPECTED';
}

function causesOf(error: Error): string[] {
  const causes: string[] = [];
  for (
    let at = error.cause;
    at !== undefined && causes.length < MOST_CAUSES;
    at = at instanceof Error ? at.cause : undefined
  ) {
    causes.push(
      at instanceof Error
        ? redactText(at.message)
        : typeof at === 'string'
          ? redactText(at)
          : `a thrown ${typeof at}`,
    );
  }
  return causes;
}
