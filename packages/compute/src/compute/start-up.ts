import { MessagingError, RequestContext, within } from '@ebbgate/core';
import { OperationAbortedError } from '../errors.js';
import type { ColdMoveFlows } from './cold-move-flows.js';
import type { HostContext } from './host-context.js';
import { removeDeletedGuests } from './operations/deleted-guests.js';
import { recoverActions } from './operations/recover-actions.js';
import { recoverBuilds } from './operations/recover-builds.js';
import { recoverColdMoves } from './operations/recover-cold-moves.js';
import { recoverLiveMigrations } from './operations/recover-live-migrations.js';
import { cleanUpEvacuated } from './operations/evacuated-guests.js';
import { retakeRequests } from './retake-requests.js';
import { pause } from '../virt/pause.js';

/** Codes that tell of the way to the records, not of what is in them. */
const UNREACHABLE: ReadonlySet<string> = new Set(['ERR_TIMEOUT', 'ERR_UNDELIVERABLE', 'ERR_DELIVERY']);
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

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

/** Runs a part again, with growing pauses, while the records cannot be reached: the order of starts is free (COMP-08). */
async function onceReachable(
  { logger }: HostContext,
  part: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, LAST_RETRY_MS)) {
    try {
      await part();
      return;
    } catch (error) {
      if (!(error instanceof MessagingError) || !UNREACHABLE.has(error.code)) throw error;
      logger.warn({ err: error }, 'The records cannot be reached yet: the start waits');
      await pause(delayMs, signal);
    }
  }
}
