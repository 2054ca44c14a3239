import type { Logger } from '@ebbgate/core';

interface Step {
  readonly what: string;
  readonly undo: () => Promise<unknown>;
}

/** What has to be taken back when a task fails, the last first. */
export class UndoStack {
  readonly #steps: Step[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(what: string, undo: () => Promise<unknown>): void {
    this.#steps.push({ what, undo });
  }

  /** To be taken back after everything else. */
  addFirst(what: string, undo: () => Promise<unknown>): void {
    this.#steps.unshift({ what, undo });
  }

  /** Takes everything back; a step that fails is logged and keeps no other from being taken. */
  async undo(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        this.#logger.error({ err: error, step: step.what }, 'A step could not be taken back');
      }
    }
  }
}
