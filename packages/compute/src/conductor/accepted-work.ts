import type { Logger } from '@ebbgate/core';
import type { TaskRegistry } from '@ebbgate/service';
import { AcceptedRequests, type JournalRules } from '../compute/accepted-requests.js';
import { onceReachable } from '../compute/once-reachable.js';
import type { RequestJournal } from '../compute/request-journal.js';
import { retakeRequests } from '../compute/retake-requests.js';
import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE } from '../rpc/conductor-methods.js';
import type { MethodRow } from '../rpc/methods.js';
import type { ConductorContext } from './conductor-context.js';
import { conductorEndpoint } from './manager.js';
import { resuming } from './resuming.js';

const ROWS: ReadonlyMap<string, MethodRow> = new Map(Object.entries(CONDUCTOR_METHODS));

/** All that is sent without waiting for an answer. A request spans several hosts and records: it stays until it has ended. */
const OF_CONDUCTORS: JournalRules = {
  isJournalled: ({ namespace, method }) =>
    namespace === CONDUCTOR_NAMESPACE && ROWS.get(method)?.kind === 'cast',
  staysOn: () => true,
};

/** What belongs to one run of a conductor. */
export interface ConductorRun {
  readonly conductor: ConductorContext;
  readonly accepted: AcceptedRequests;
  /** Everything that runs here, for the drain to wait for. */
  readonly tasks: TaskRegistry;
  /** Aborts at its end. */
  readonly lifetime: AbortSignal;
}

/** What one run of a conductor has accepted and not ended. */
export function acceptedBy(journal: RequestJournal, logger: Logger, lifetime: AbortSignal): AcceptedRequests {
  return new AcceptedRequests(journal, logger, lifetime, OF_CONDUCTORS);
}

/**
 * Before a conductor serves: begins again with what its last run was cut off in, once the records can be reached. What was
 * handed to a host already, or is not wanted any more, is left alone.
 */
export async function takeUpAccepted(
  { conductor, accepted, tasks, lifetime }: ConductorRun,
  signal: AbortSignal,
): Promise<void> {
  if (accepted.left().length === 0) return;
  const { logger, records } = conductor;
  await onceReachable({ logger }, () => records.services.list('conductor'), signal);
  retakeRequests({ tasks, accepted, logger, lifetime }, conductorEndpoint(resuming(conductor)));
}
