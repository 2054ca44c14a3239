import type { Logger } from '@ebbgate/core';
import type { TaskRecord, TaskRegistry } from '@ebbgate/service';
import { RecordNotFoundError } from '../errors.js';

interface Held {
  readonly timer: NodeJS.Timeout;
  /** A check is under way: the next one waits for the next turn after it. */
  looking: boolean;
}

/** How held operations are kept. */
export interface HeldOperationsOptions {
  readonly tasks: TaskRegistry;
  readonly logger: Logger;
  /** How often an open operation is checked against the records; milliseconds. */
  readonly recheckMs: number;
  /** With its abort nothing is checked any more. */
  readonly lifetime: AbortSignal;
}

/**
 * Operations of which this host does only a part, held open from one request to another so that a drain waits for what
 * comes between (GS-100). Normally the last request closes them; when it never comes (the other side died), the records
 * tell that the operation is over.
 */
export class HeldOperations {
  readonly #options: HeldOperationsOptions;
  readonly #held = new Map<string, Held>();

  constructor(options: HeldOperationsOptions) {
    this.#options = options;
    options.lifetime.addEventListener('abort', () => {
      for (const { timer } of this.#held.values()) clearInterval(timer);
    });
  }

  isOpen(key: string): boolean {
    return this.#held.has(key);
  }

  /** Opens an operation, unless it is open. @param isOver - whether the records say that it has ended */
  open(key: string, record: TaskRecord, isOver: () => Promise<boolean>): void {
    if (this.#held.has(key)) return;
    this.#options.tasks.openOperation(key, record);
    const timer = setInterval(() => {
      void this.#look(key, held, isOver);
    }, this.#options.recheckMs);
    const held: Held = { timer, looking: false };
    timer.unref(); // the process lives as long as its servers, not as long as this
    this.#held.set(key, held);
  }

  /** The operation is over; nothing happens when it is not open. */
  close(key: string, error?: unknown): void {
    const held = this.#held.get(key);
    if (!held) return;
    clearInterval(held.timer);
    this.#held.delete(key);
    this.#options.tasks.closeOperation(key, error);
  }

  /** One look at a time: those that pile up while the records are away would all be answered in the same moment. */
  async #look(key: string, held: Held, isOver: () => Promise<boolean>): Promise<void> {
    if (held.looking) return;
    held.looking = true;
    try {
      await this.#recheck(key, held, isOver);
    } finally {
      held.looking = false;
    }
  }

  async #recheck(key: string, held: Held, isOver: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await isOver().catch(overWhenGone))) return;
    } catch (error) {
      this.#options.logger.debug(
        { err: error, operation: key },
        'The records could not be asked about an operation',
      );
      return;
    }
    if (this.#held.get(key) !== held) return; // closed meanwhile, and perhaps opened again
    this.#options.logger.warn(
      { operation: key },
      'Nobody closed this operation, and the records say that it is over',
    );
    this.close(key, new Error('ended without a word'));
  }
}

/** What has no record any more, or never had one, does not go on. */
function overWhenGone(error: unknown): boolean {
  if (error instanceof RecordNotFoundError) return true;
  throw error;
}
