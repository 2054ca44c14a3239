import type { Part } from './supervisor.js';

/** A part that has not been started. */
export interface StartablePart extends Part {
  start(): Promise<void>;
}

/** What is left of the time for all, as a drain takes it. */
export function limited(withinMs: number): { readonly withinMs?: number } {
  return Number.isFinite(withinMs) ? { withinMs: Math.max(0, withinMs) } : {};
}
