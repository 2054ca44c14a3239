import type { Logger, TypedEvents } from '@ebbgate/core';
import type { RecordEvents } from '../../db/memory-records.js';
import type { CloudView } from './cloud-view.js';
import { eventFrame } from './event-client.js';
import { ViewChanges } from './view-changes.js';

/** What is watched, and how. */
export interface CloudWatchOptions {
  /** Looks at the cloud. */
  readonly look: () => Promise<CloudView>;
  /** Tells of each change of a record; absent: it is looked again and again. */
  readonly events?: TypedEvents<RecordEvents> | undefined;
  readonly logger: Logger;
  /** What happens within so long is told together; default 100. */
  readonly coalesceMs?: number | undefined;
  /** Looks also when nothing was told; default 1000, and 5000 with `events`: time alone makes a host that is silent down. */
  readonly lookMs?: number | undefined;
}

const CHANGES = ['instance', 'migration', 'service', 'service.delete'] as const;
/** A look may take one part in so many of the time. */
const LOOKING_SHARE = 5;

/**
 * Looks at a cloud until it is ended, and tells as events what it sees: `state`, all there is, at first and once the records
 * can be read again; `change`; and `unreachable`.
 */
export class CloudWatch {
  readonly #options: CloudWatchOptions;
  readonly #tell: (frame: string) => void;
  readonly #unsubscribe: readonly (() => void)[];
  #changes = new ViewChanges();
  #view: CloudView | 'unknown' | 'unreachable' = 'unknown';
  /** Of a look: it comes some time, soon, or is under way, with something that has changed since it began or not. */
  #state: 'waiting' | 'due' | 'looking' | 'outdated' | 'ended' = 'waiting';
  #timer: NodeJS.Timeout | undefined;

  /** @param tell - is called with each event, as it is sent */
  constructor(options: CloudWatchOptions, tell: (frame: string) => void) {
    this.#options = options;
    this.#tell = tell;
    const { events } = options;
    const changed = (): void => {
      this.#changed();
    };
    this.#unsubscribe = events ? CHANGES.map((name) => events.on(name, changed)) : [];
    void this.#look();
  }

  /** What somebody who comes now is told first; undefined: nothing is known yet. */
  get whole(): string | undefined {
    if (this.#view === 'unknown') return undefined;
    return this.#view === 'unreachable' ? eventFrame('unreachable', {}) : eventFrame('state', this.#view);
  }

  /** Looks no more, and tells nothing more. */
  end(): void {
    this.#state = 'ended';
    clearTimeout(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** What changes next, too, is told together with it. */
  #changed(): void {
    if (this.#state === 'looking') this.#state = 'outdated';
    else if (this.#state === 'waiting') this.#lookLater('due', 0);
  }

  #lookLater(state: 'waiting' | 'due', tookMs: number): void {
    const { events, coalesceMs = 100, lookMs = events ? 5_000 : 1_000 } = this.#options;
    clearTimeout(this.#timer);
    this.#state = state;
    const afterMs = Math.max(state === 'due' ? coalesceMs : lookMs, tookMs * (LOOKING_SHARE - 1));
    this.#timer = setTimeout(() => void this.#look(), afterMs).unref();
  }

  async #look(): Promise<void> {
    this.#state = 'looking';
    const beganAt = performance.now();
    try {
      this.#sees(await this.#options.look());
    } catch (error) {
      this.#seesNothing(error);
    }
    if (this.#hasEnded) return;
    this.#lookLater(this.#isOutdated ? 'due' : 'waiting', performance.now() - beganAt);
  }

  /** It may have become so during a look. */
  get #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  get #isOutdated(): boolean {
    return this.#state === 'outdated';
  }

  #sees(view: CloudView): void {
    if (this.#hasEnded) return;
    const isFirst = typeof this.#view === 'string';
    this.#view = view;
    const change = this.#changes.to(view);
    if (isFirst) this.#tell(eventFrame('state', view));
    else if (change) this.#tell(eventFrame('change', change));
  }

  /** Told once, until there is something to see again. */
  #seesNothing(error: unknown): void {
    if (this.#hasEnded || this.#view === 'unreachable') return;
    this.#options.logger.warn({ err: error }, 'The page for operators: the records cannot be read now');
    this.#view = 'unreachable';
    this.#changes = new ViewChanges();
    this.#tell(eventFrame('unreachable', {}));
  }
}
