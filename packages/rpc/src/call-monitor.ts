import { TimerEntry, timers } from '@ebbgate/core';

/**
 * Sends signs of life while a handler runs: twice per interval of the caller, until it is ended or one cannot be
 * delivered (RPC-04).
 */
export class CallMonitor extends TimerEntry {
  readonly #periodMs: number;
  readonly #beat: () => Promise<void> | undefined;
  #ended = false;
  #underWay = false;

  /** `beat` sends one sign of life; it may throw or reject. */
  constructor(intervalMs: number, beat: () => Promise<void> | undefined) {
    super();
    this.#periodMs = intervalMs / 2;
    this.#beat = beat;
    timers.add(this, this.#periodMs);
  }

  override onTime(): void {
    timers.add(this, this.#periodMs);
    if (this.#underWay) return; // the broker holds the last one up: another would only wait behind it
    try {
      const sent = this.#beat();
      if (!sent) return;
      this.#underWay = true;
      sent.then(this.#arrived, this.#failed);
    } catch {
      this.end();
    }
  }

  readonly #arrived = (): void => {
    this.#underWay = false;
  };

  /** The caller is gone. */
  readonly #failed = (): void => {
    this.end();
  };

  /** Before the reply goes out: no sign of life overtakes it, none follows it. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    timers.remove(this);
  }
}
