import type { HeldOperations } from './held-operations.js';
import type { HostContext } from './host-context.js';
import { ConfirmResize } from './operations/confirm-resize.js';
import { CrossCellAtDestination } from './operations/cross-cell-dest.js';
import { CrossCellEndAtSource } from './operations/cross-cell-end.js';
import { CrossCellEngagement } from './operations/cross-cell-engagement.js';
import { CrossCellAtSource } from './operations/cross-cell-source.js';
import { ResizeAtDestination } from './operations/resize-dest.js';
import { ResizeEngagement } from './operations/resize-engagement.js';
import { ResizeAtSource } from './operations/resize-source.js';
import { RevertResizeAtDestination } from './operations/revert-resize-dest.js';
import { RevertResizeAtSource } from './operations/revert-resize-source.js';
import { SourceEngagement } from './operations/source-engagement.js';

/** What one host does for instances that move while they are shut down: each flow on each side. */
export interface ColdMoveFlows {
  readonly resizeAtSource: ResizeAtSource;
  readonly resizeAtDestination: ResizeAtDestination;
  readonly confirm: ConfirmResize;
  readonly revertAtSource: RevertResizeAtSource;
  readonly revertAtDestination: RevertResizeAtDestination;
  readonly crossCellAtSource: CrossCellAtSource;
  readonly crossCellAtDestination: CrossCellAtDestination;
  readonly crossCellEnd: CrossCellEndAtSource;
  /** What a drain waits for at the source. */
  readonly sourceEngagement: SourceEngagement;
}

export function coldMoveFlowsOf(host: HostContext, held: HeldOperations): ColdMoveFlows {
  return {
    resizeAtSource: new ResizeAtSource(host),
    resizeAtDestination: new ResizeAtDestination(host, new ResizeEngagement(host, held)),
    confirm: new ConfirmResize(host),
    revertAtSource: new RevertResizeAtSource(host),
    revertAtDestination: new RevertResizeAtDestination(host),
    crossCellAtSource: new CrossCellAtSource(host),
    crossCellAtDestination: new CrossCellAtDestination(host, new CrossCellEngagement(host, held)),
    crossCellEnd: new CrossCellEndAtSource(host),
    sourceEngagement: new SourceEngagement(host, held),
  };
}
