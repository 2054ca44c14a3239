import type { Delivery, EventContext, Receiver } from 'rhea';
import type { LinkSession } from './link-session.js';
import { bytesOf, creditOf, forgetCredit, leaveRing, writeCredit, writeNoCredit } from './rhea-parts.js';

/** One node that is received from. */
export interface SourceNode {
  /** What rhea attaches to. */
  readonly source: object;
  /** Others may have what we have no room for; else it is ours alone. */
  readonly isShared: boolean;
}

/** @param link - the one that has brought it */
type OnMessage = (bytes: Buffer, delivery: Delivery, link: CreditLink) => void;

/** A receiver whose credit is ours to give and to take back. Goes with its session. */
export class CreditLink {
  readonly isShared: boolean;
  readonly #session: LinkSession;
  readonly #receiver: Receiver;
  readonly #takesBack: 'drain' | 'flow';
  /** RabbitMQ 3 answers each flow with one of its own, in order. */
  #flowsWritten = 0;
  #flowsAnswered = 0;
  #onAnswer: (() => void) | undefined;
  /** What was granted is taken back; rhea counts it still. */
  #isTaken = false;

  static async attach(
    session: LinkSession,
    { source, isShared }: SourceNode,
    onMessage: OnMessage,
  ): Promise<CreditLink> {
    const receiver = await session.attachReceiver({ source });
    return new CreditLink(session, receiver, isShared, onMessage);
  }

  private constructor(session: LinkSession, receiver: Receiver, isShared: boolean, onMessage: OnMessage) {
    this.#session = session;
    this.#receiver = receiver;
    this.isShared = isShared;
    this.#takesBack = session.peer.form.takesBack;
    receiver.on('message', ({ message, delivery }: EventContext) => {
      if (!delivery) return; // rhea gives it
      leaveRing(delivery);
      onMessage(bytesOf(message), delivery, this);
    });
    receiver.on('receiver_flow', () => {
      this.#flowsAnswered += 1;
      if (this.#takesBack === 'flow') this.#onAnswer?.();
    });
    receiver.on('receiver_drained', () => {
      if (this.#takesBack === 'drain') this.#onAnswer?.();
    });
  }

  /** The name that the peer has given to a node that it has made for us. */
  get address(): string {
    return this.#receiver.source.address;
  }

  /** Granted, and not used up. */
  get credit(): number {
    return this.#isTaken ? 0 : creditOf(this.#receiver);
  }

  /**
   * Grants up to so much. RabbitMQ 3 forgets what it has sent and we have not received: it is granted more only when all
   * has come, or it would send too much.
   */
  grantUpTo(most: number): void {
    const { credit } = this;
    const more = most - credit;
    if (more <= 0) return;
    const isSmall = this.#takesBack === 'flow' || more < most / 4;
    if (credit === 0 || !isSmall) this.#grant(more);
  }

  #grant(more: number): void {
    if (this.#isTaken) forgetCredit(this.#receiver);
    this.#isTaken = false;
    this.#receiver.drain = false;
    void this.#session.peer.turn();
    this.#flowsWritten += 1;
    writeCredit(this.#receiver, more);
  }

  /**
   * Resolves when nothing more comes: with true when the peer has confirmed that, and all that it had sent has come; with
   * false when there was nothing to take back, or the session is gone.
   */
  async takeBack(): Promise<boolean> {
    if (this.credit === 0) return false;
    this.#isTaken = true;
    if (this.#takesBack === 'drain') {
      const drained = this.#answered(() => true);
      this.#receiver.drain_credit();
      await drained;
      return this.#session.isOpen;
    }
    // The first answer is that of the queue. What it had sent by then comes before the second.
    for (let times = 0; times < 2; times += 1) {
      this.#flowsWritten += 1;
      writeNoCredit(this.#receiver);
      await this.#answered(() => this.#flowsAnswered >= this.#flowsWritten);
    }
    return this.#session.isOpen;
  }

  /** Its session is gone: nobody answers any more. */
  end(): void {
    this.#isTaken = true;
    this.#flowsAnswered = Infinity;
    this.#onAnswer?.();
  }

  #answered(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswer = () => {
        if (!isDone()) return;
        this.#onAnswer = undefined;
        resolve();
      };
    });
  }
}
