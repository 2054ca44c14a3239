import { AssertionError } from 'node:assert/strict';
import { Deadline, type DriverStatus, MessagingError, type Transport } from '@ebbgate/core';
import type { BrokerFaults } from './faults.js';
import { Gate } from './gate.js';
import type { Lab } from './lab.js';
import { textMessage, toTopic } from './test-message.js';

/** The way from the transports of one test to the broker: how a test breaks it, and sees that it is broken or there again. */
export class Link {
  readonly #lab: Lab;
  readonly #faults: BrokerFaults | undefined;
  readonly #isUnsteady: boolean;
  readonly #lost = new Gate();
  #wasLost = false;

  /** @param isUnsteady - it fails by itself, too */
  constructor(lab: Lab, faults: BrokerFaults | undefined, isUnsteady: boolean) {
    this.#lab = lab;
    this.#faults = faults;
    this.#isUnsteady = isUnsteady;
  }

  get faults(): BrokerFaults {
    if (this.#faults) return this.#faults;
    throw new AssertionError({ message: 'unreachable: tests that need faults are skipped without' });
  }

  /** A transport has told that its connection is lost. */
  get wasLost(): boolean {
    return this.#wasLost;
  }

  /** Resolves when a transport has told that its connection is lost. */
  get lost(): Promise<void> {
    return this.#lost.opened;
  }

  watch(transport: Transport): void {
    transport.events.on('connection', ({ state }) => {
      if (state !== 'disconnected') return;
      this.#wasLost = true;
      this.#lost.open();
    });
  }

  /** Resolves when the transport says so of itself. Looked at whenever it tells a change. */
  async #statusOf(
    transport: Transport,
    wanted: (status: DriverStatus) => boolean,
    what: string,
  ): Promise<void> {
    const reached = new Gate();
    const look = (): void => {
      if (wanted(transport.status())) reached.open();
    };
    const deaf = [transport.events.on('connection', look), transport.events.on('listener', look)];
    look();
    try {
      await this.#lab.until(reached.opened, `status: ${what}`);
    } finally {
      for (const end of deaf) end();
    }
  }

  subscribed(transport: Transport): Promise<void> {
    return this.#statusOf(
      transport,
      ({ connection, listeners }) =>
        connection === 'connected' && listeners.every(({ subscribed }) => subscribed),
      'all listeners subscribed',
    );
  }

  async cut(transports: readonly Transport[]): Promise<void> {
    const { faults } = this;
    this.#lab.onEnd(() => faults.restore());
    await faults.cut();
    for (const each of transports) {
      await this.#statusOf(each, ({ connection }) => connection !== 'connected', 'disconnected');
      if (this.#isUnsteady) await this.#noticed(each);
    }
  }

  async restore(transports: readonly Transport[]): Promise<void> {
    await this.faults.restore();
    for (const each of transports)
      await this.#statusOf(each, ({ connection }) => connection === 'connected', 'connected');
  }

  async stall(): Promise<void> {
    this.#lab.onEnd(() => this.resume());
    await this.faults.stall?.();
  }

  async resume(): Promise<void> {
    await this.faults.resume?.();
  }

  /**
   * A driver with several connections may say that it is disconnected when one was lost by itself before, and not have
   * noticed yet that now the others are cut, too.
   */
  async #noticed(transport: Transport): Promise<void> {
    const probe = async (): Promise<string> => {
      const options = { deadline: Deadline.after(this.#lab.waitMs), mandatory: true, retry: 0 };
      try {
        await transport.publish(toTopic(this.#lab.source()), textMessage('anyone?'), options);
        return 'sent';
      } catch (error) {
        return error instanceof MessagingError ? error.outcome : String(error);
      }
    };
    await this.#lab.repeat(probe, (outcome) => outcome === 'not-sent', 'the cut to be noticed by a send');
    await this.#statusOf(
      transport,
      ({ listeners }) => listeners.every(({ subscribed }) => !subscribed),
      'no listener subscribed',
    );
  }
}
