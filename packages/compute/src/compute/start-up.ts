import { RequestContext, within } from '@ebbgate/core';
import { OperationAbortedError } from '../errors.js';
import type { ColdMoveFlows } from './cold-move-flows.js';
import type { HostContext } from './host-context.js';
import { onceReachable } from './once-reachable.js';
import { Attachments } from './operations/attachments.js';
import { removeDeletedGuests } from './operations/deleted-guests.js';
import { recoverActions } from './operations/recover-actions.js';
import { recoverBuilds } from './operations/recover-builds.js';
import { recoverColdMoves } from './operations/recover-cold-moves.js';
import { recoverLiveMigrations } from './operations/recover-live-migrations.js';
import { cleanUpEvacuated } from './operations/evacuated-guests.js';
import { retakeRequests } from './retake-requests.js';

/**
 * What a host does before it serves: it takes up, or back, what its last run was cut off in, and removes what was moved
 * away from it meanwhile; then what that run had accepted and not begun. Each part is tried, whatever the others do.
 *
 * @param endpoint - that of its servers
 */
export async function startUp(
  host: HostContext,
  coldMoves: ColdMoveFlows,
  endpoint: object,
  signal: AbortSignal,
): Promise<void> {
  const context = new RequestContext();
  const parts = [
    () => cleanUpEvacuated(host, context),
    () => removeDeletedGuests(host),
    () => recoverActions(host, context),
    () => recoverBuilds(host),
    () => recoverLiveMigrations(host, context),
    () => recoverColdMoves(host, context, coldMoves),
    () => new Attachments(host).freeReserved(),
    async () => retakeRequests(host, endpoint), // what the others have seen to is not wanted any more
  ];
  for (const part of parts) {
    if (signal.aborted) return; // a drain has begun
    try {
      const begun = onceReachable(host, part, signal);
      await within(begun, { signal }, () => new OperationAbortedError('A drain has begun'));
    } catch (error) {
      if (error !== signal.reason) host.logger.error({ err: error }, 'A part of the start-up failed');
    }
  }
}
