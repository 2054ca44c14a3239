import type { Service } from '@ebbgate/service';
import type { Part } from './supervisor.js';

/** A part that has not been started. */
export interface StartablePart extends Part {
  start(): Promise<void>;
  /** What serves in its present run, or did in the last; undefined: it was not started. */
  readonly service: Service | undefined;
}

/** What is left of the time for all, as a drain takes it. */
export function limited(withinMs: number): { readonly withinMs?: number } {
  return Number.isFinite(withinMs) ? { withinMs: Math.max(0, withinMs) } : {};
}
