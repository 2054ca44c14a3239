/**
 * The states of a message server, and the moves between them:
 *
 *     idle ──start──► starting ──► listening ──stop──► stopping ──► stopped ──wait──► drained ──start──► starting …
 *                        │ fails: stopping, idle     stop while starting: stopping at once, halted when the start has ended
 *
 * `start()` while stopping or stopped first lets the cycle end, as `wait()` does, and then begins the next one.
 */
export type ServerState = 'idle' | 'starting' | 'listening' | 'stopping' | 'stopped' | 'drained';

/** What a life cycle runs, each once a cycle, never two at a time. */
export interface LifecyclePhases {
  /** Begins intake. When it fails, `halt` and `finish` are run as well, to close what it had opened. */
  open(): Promise<void>;
  /** Ends intake. */
  halt(): Promise<void>;
  /** Lets what is under way finish, then frees everything. */
  finish(): Promise<void>;
}

/** One turn from start to drained. Its promises are shared by all callers. */
interface Cycle {
  opened: Promise<void>;
  halted: Promise<void> | undefined;
  finished: Promise<void> | undefined;
  /** Told to those that wait before anybody has called stop. */
  readonly onHalt: Promise<void>;
  readonly announceHalt: () => void;
}

/** `start`, `stop` and `wait` as one ordered, idempotent state machine (CORE-01, CORE-02). */
export class Lifecycle {
  readonly #phases: LifecyclePhases;
  #state: ServerState = 'idle';
  #cycle: Cycle | undefined;
  /** A start that waits for the cycle before it to end; a stop() meanwhile takes it back. */
  #restart: { readonly done: Promise<void>; wanted: boolean } | undefined;

  constructor(phases: LifecyclePhases) {
    this.#phases = phases;
  }

  get state(): ServerState {
    return this.#state;
  }

  /**
   * Resolves when listening, or when a `stop()` called meanwhile took the start back; rejects with what `open` threw,
   * after which it may be called again.
   */
  start(): Promise<void> {
    if (this.#restart) {
      this.#restart.wanted = true;
      return this.#restart.done;
    }
    if (!this.#cycle) return this.#begin();
    if (!this.#cycle.halted) return this.#cycle.opened;
    this.#restart = { done: this.#startAgain(this.#cycle), wanted: true };
    return this.#restart.done;
  }

  /** Resolves when intake has ended; at once when there is none. */
  stop(): Promise<void> {
    if (this.#restart) this.#restart.wanted = false;
    const cycle = this.#cycle;
    if (!cycle) return Promise.resolve();
    if (!cycle.halted) {
      this.#state = 'stopping'; // at once: what arrives from now on goes back
      cycle.halted = this.#halt(cycle);
      cycle.announceHalt();
    }
    return cycle.halted;
  }

  /** Resolves when the cycle is over: waits for somebody to call `stop`, then for what is under way. */
  wait(): Promise<void> {
    if (this.#restart) {
      const again = (): Promise<void> => this.wait(); // also when it failed: it may not be closed yet
      return this.#restart.done.then(again, again);
    }
    return this.#cycle ? this.#over(this.#cycle) : Promise.resolve();
  }

  #over(cycle: Cycle): Promise<void> {
    cycle.finished ??= this.#finish(cycle);
    return cycle.finished;
  }

  async #startAgain(cycle: Cycle): Promise<void> {
    await this.#over(cycle).catch(() => undefined);
    const wanted = this.#restart?.wanted;
    this.#restart = undefined;
    if (wanted) await this.#begin();
  }

  #begin(): Promise<void> {
    this.#state = 'starting';
    let announceHalt: () => void = () => undefined;
    const onHalt = new Promise<void>((resolve) => {
      announceHalt = resolve;
    });
    const cycle: Cycle = {
      opened: Promise.resolve(),
      halted: undefined,
      finished: undefined,
      onHalt,
      announceHalt,
    };
    this.#cycle = cycle;
    cycle.opened = this.#open(cycle);
    return cycle.opened;
  }

  async #open(cycle: Cycle): Promise<void> {
    await Promise.resolve(); // first the cycle is there: what listens to events may call start() again from within
    try {
      await this.#phases.open();
    } catch (error) {
      if (!cycle.halted) await this.#abandon(cycle);
      throw error; // of all errors the first one
    }
    if (this.#state === 'starting') this.#state = 'listening';
  }

  /** A start that failed closes what it had opened and leaves no trace. */
  async #abandon(cycle: Cycle): Promise<void> {
    this.#state = 'stopping'; // what arrives all the same goes back
    await this.#phases.halt().catch(() => undefined);
    await this.#phases.finish().catch(() => undefined);
    this.#end(cycle, 'idle');
    cycle.announceHalt();
  }

  async #halt(cycle: Cycle): Promise<void> {
    const started = await cycle.opened.then(
      () => true,
      () => false,
    );
    if (this.#cycle !== cycle) return; // the start failed meanwhile, and everything is closed
    if (!started) return this.#abandon(cycle);
    try {
      await this.#phases.halt();
    } finally {
      this.#state = 'stopped';
    }
  }

  async #finish(cycle: Cycle): Promise<void> {
    await cycle.onHalt;
    await cycle.halted?.catch(() => undefined);
    if (this.#cycle !== cycle) return;
    try {
      await this.#phases.finish();
    } finally {
      this.#end(cycle, 'drained');
    }
  }

  #end(cycle: Cycle, state: 'idle' | 'drained'): void {
    if (this.#cycle !== cycle) return;
    this.#cycle = undefined;
    this.#state = state;
  }
}
