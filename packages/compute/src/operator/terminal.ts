import type { Screen } from '../main-job/picture.js';

/** Where an operator sits: what is printed goes there. */
export interface Terminal {
  /** What was asked for. */
  out(text: string): void;
  /** What is said besides: progress that others than people read, and errors. */
  err(text: string): void;
  /** Something to draw on; undefined: a pipe or a file. */
  readonly screen: Screen | undefined;
  /** Aborts when the operator has had enough. */
  readonly signal: AbortSignal;
}
