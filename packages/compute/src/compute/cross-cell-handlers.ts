import { expectedExceptions } from '@ebbgate/rpc';
import { MigrationPreCheckError, UnexpectedStateError } from '../errors.js';
import type { Handlers } from '../rpc/endpoint.js';
import type { ComputeMethods } from '../rpc/methods.js';
import type { ColdMoveFlows } from './cold-move-flows.js';

/**
 * What a host answers to when an instance moves to another cell, or from one (`compute-rpc.md` 3.5): calls, each a task for
 * as long as it is answered.
 */
export function crossCellHandlers({
  crossCellAtSource,
  crossCellAtDestination,
  crossCellEnd,
  sourceEngagement,
}: ColdMoveFlows): Handlers<ComputeMethods> {
  // A message that comes late is answered, to whomever, and is no fault of this side.
  const expected = <Args extends unknown[], Result>(method: (...args: Args) => Result) =>
    expectedExceptions([MigrationPreCheckError, UnexpectedStateError], method);
  return {
    prep_snapshot_based_resize_at_dest: expected((context, args) =>
      crossCellAtDestination.prepare(context, args),
    ),
    prep_snapshot_based_resize_at_source: expected((context, args) => {
      sourceEngagement.close(args.migration);
      return crossCellAtSource.prepare(context, args);
    }),
    finish_snapshot_based_resize_at_dest: expected((context, args) =>
      crossCellAtDestination.finish(context, args),
    ),
    confirm_snapshot_based_resize_at_source: expected((context, args) => crossCellEnd.confirm(context, args)),
    revert_snapshot_based_resize_at_dest: expected((context, args) =>
      crossCellAtDestination.revert(context, args),
    ),
    finish_revert_snapshot_based_resize_at_source: expected((context, args) => {
      sourceEngagement.close(args.migration);
      return crossCellEnd.finishRevert(context, args);
    }),
  };
}
