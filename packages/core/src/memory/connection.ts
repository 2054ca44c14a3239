import type { ConnectionState, DriverEvents } from '../driver.js';
import type { Deadline } from '../deadline.js';
import { MessageDeliveryError, TransportClosedError } from '../errors.js';
import { within } from '../within.js';

/** What comes back with the connection: listeners and the reply box. */
export interface Attached {
  /** The connection is gone. */
  onCut(): void;
  /** The connection is there again. */
  onRestored(): void;
}

/** The connection of one memory driver: always there, unless a test cuts it. */
export class MemoryConnection {
  readonly attached: Set<Attached> = new Set();
  readonly #events: DriverEvents;
  #state: ConnectionState = 'idle';
  #cause: Error | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(events: DriverEvents) {
    this.#events = events;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get up(): boolean {
    return this.#state === 'connected';
  }

  /** The broker cannot be reached yet; `restore` connects. */
  begin(): void {
    if (this.#state !== 'closed') this.#change('connecting');
  }

  open(): void {
    if (this.#state !== 'closed') this.#change('connected');
  }

  cut(): void {
    if (!this.up) return;
    this.#change('disconnected', new Error('The connection was cut'));
    for (const each of this.attached) each.onCut();
    this.wakeAll();
  }

  restore(): void {
    if (this.#state !== 'disconnected' && this.#state !== 'connecting') return;
    this.#change('connected');
    for (const each of this.attached) each.onRestored();
    this.wakeAll();
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#change('closed');
    this.attached.clear();
    this.wakeAll();
  }

  /** Resolves when the connection is there; rejects at the deadline, if there is one, or when it was closed. */
  async whenUp(deadline: Deadline | undefined): Promise<void> {
    while (!this.up) {
      if (this.#state === 'closed') throw new TransportClosedError('The transport was closed');
      const why = this.#cause ? `: ${this.#cause.message}` : '';
      await this.untilChanged(deadline, `Not connected to the broker before the deadline${why}`, this.#cause);
    }
  }

  /** Resolves at the next change of the connection or of its broker; rejects at the deadline, if there is one. */
  async untilChanged(deadline: Deadline | undefined, late: string, cause?: Error): Promise<void> {
    let wake: () => void = () => undefined;
    const change = new Promise<void>((resolve) => this.#waiting.add((wake = resolve)));
    try {
      await within(
        change,
        { timeoutMs: deadline?.remainingMs },
        () => new MessageDeliveryError(late, { cause }),
      );
    } finally {
      this.#waiting.delete(wake);
    }
  }

  /** Something has changed: whoever waits looks again. */
  wakeAll(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #change(state: ConnectionState, cause?: Error): void {
    this.#state = state;
    this.#cause = state === 'connected' ? undefined : (cause ?? this.#cause);
    this.#events.connection(state, cause);
  }
}
