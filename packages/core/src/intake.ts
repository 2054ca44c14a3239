import { TimerEntry, timers } from './timer-wheel.js';

/** The first pause after a message that could not be accepted, and the longest; each is twice the one before. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** How the broker is asked for no more, and for more again. Must not throw. */
export interface IntakeActions {
  pause(): void;
  resume(): void;
}

/**
 * Whether a server asks for messages. It asks for none while its slots are taken for long, nor for a while after
 * `beforeAccept` has failed: what it gives back would return at once, and fail again at full speed.
 */
export class Intake extends TimerEntry {
  readonly #actions: IntakeActions;
  readonly #reasons = new Set<'no-slot' | 'not-accepted'>();
  #state: 'open' | 'ended' = 'ended';
  #pauseMs = 0;

  constructor(actions: IntakeActions) {
    super();
    this.#actions = actions;
  }

  get paused(): boolean {
    return this.#reasons.size > 0;
  }

  /** The server asks for no more, until it begins again. */
  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  /** The server begins to listen. */
  begin(): void {
    this.#state = 'open';
    this.#pauseMs = 0;
  }

  /** Intake has ended: what is given back from now on comes here no more. */
  end(): void {
    this.#state = 'ended';
    timers.remove(this);
    this.#reasons.delete('not-accepted');
  }

  /** No slot has come free for long. */
  onStall(): void {
    this.#hold('no-slot');
  }

  /** Slots come free again. */
  onRelief(): void {
    this.#drop('no-slot');
  }

  /** A message could not be accepted: called before it goes back. Those fetched with it make the pause no longer. */
  onRefused(): void {
    if (this.#state === 'ended' || this.#reasons.has('not-accepted')) return;
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
    timers.add(this, this.#pauseMs);
    this.#hold('not-accepted');
  }

  /** A message was accepted: the next pause is a short one. */
  onAccepted(): void {
    this.#pauseMs = 0;
  }

  override onTime(): void {
    this.#drop('not-accepted');
  }

  #hold(reason: 'no-slot' | 'not-accepted'): void {
    const wasPaused = this.paused;
    this.#reasons.add(reason);
    if (!wasPaused) this.#actions.pause();
  }

  #drop(reason: 'no-slot' | 'not-accepted'): void {
    if (this.#reasons.delete(reason) && !this.paused) this.#actions.resume();
  }
}
