import type { Handlers } from '../rpc/endpoint.js';
import type { ComputeMethods } from '../rpc/methods.js';
import type { ColdMoveFlows } from './cold-move-flows.js';

/** Methods of {@link coldMoveHandlers} whose work is a task of its own, or is held open as one. */
export const COLD_MOVES_SELF_TRACKED: readonly string[] = [
  'prep_resize',
  'resize_instance',
  'finish_resize',
  'confirm_resize',
  'revert_resize',
  'finish_revert_resize',
];

/** What a host answers to when an instance moves while it is shut down (`compute-rpc.md` 3.2 to 3.4). */
export function coldMoveHandlers(moves: ColdMoveFlows): Handlers<ComputeMethods> {
  const { resizeAtSource, resizeAtDestination, confirm, revertAtSource, revertAtDestination } = moves;
  const { sourceEngagement } = moves;
  return {
    prep_resize: (context, args) => resizeAtDestination.prepare(context, args),
    resize_instance: (context, args) => {
      resizeAtSource.begin(context, args);
      sourceEngagement.close(args.migration);
    },
    finish_resize: (context, args) => {
      resizeAtDestination.beginFinish(context, args);
    },
    confirm_resize: (context, args) => {
      confirm.begin(context, args);
    },
    revert_resize: (context, args) => {
      revertAtDestination.begin(context, args);
    },
    finish_revert_resize: (context, args) => {
      revertAtSource.begin(context, args);
      sourceEngagement.close(args.migration);
    },
  };
}
