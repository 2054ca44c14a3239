import {
  ConfigurationError,
  MessageDeliveryError,
  MessageUndeliverableError,
  redactedCause,
} from '@ebbgate/core';
import type { Delivery, EventContext, Sender } from 'rhea';
import type { SourceTopology } from '../topology.js';
import type { TargetNode } from './address-form.js';
import type { Declarer } from './declarer.js';
import { LinkSession } from './link-session.js';
import type { PeerConnection } from './peer-connection.js';
import { asPeerError, isNotFound, isRefused, PeerError, peerError } from './peer-errors.js';
import { forget, roomOf } from './rhea-parts.js';
import { type Outgoing, SendAgain, Sending } from './sending.js';

/** So many may be overdue before they are written, as the peer has closed its window: then the link is replaced. */
const MOST_OVERDUE = 1_024;

/**
 * Sends to one node, on a session of its own: a wrong address hurts nobody else. What has no credit waits here, where its
 * deadline can still take it back.
 */
export class SenderLink {
  readonly #node: TargetNode;
  readonly #declarer: Declarer;
  readonly #onEnd: (link: SenderLink) => void;
  readonly #session: LinkSession;
  readonly #waiting = new Set<Sending>();
  readonly #underWay = new Map<Delivery, Sending>();
  #sender: Sender | undefined;
  #overdue = 0;
  #isRetired = false;

  /** @param onEnd - the next send needs another one */
  constructor(peer: PeerConnection, node: TargetNode, declarer: Declarer, onEnd: (link: SenderLink) => void) {
    this.#node = node;
    this.#declarer = declarer;
    this.#onEnd = onEnd;
    this.#session = new LinkSession(peer, (cause) => {
      this.#ended(cause);
    });
    void this.#open();
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#underWay.size === 0;
  }

  get isOpen(): boolean {
    return this.#session.isOpen;
  }

  /** Rejects with SendAgain when nothing has reached the broker, or it does no harm. */
  send(outgoing: Outgoing): Promise<void> {
    return new Promise((resolve, reject) => {
      const sending = new Sending(outgoing, resolve, reject, this.#onLate);
      this.#waiting.add(sending);
      this.#pump();
    });
  }

  /** Nothing is to be sent on it any more. */
  close(): void {
    void this.#session.close();
  }

  /** Never rejects: the session tells its end. */
  async #open(): Promise<void> {
    try {
      const { asksAt, waitsIn } = this.#node;
      if (waitsIn) await this.#declare(waitsIn);
      if (asksAt !== undefined) {
        const asking = await this.#session.attachReceiver({ source: asksAt });
        await this.#session.detach(asking, 'receiver');
      }
      const sender = await this.#session.attachSender({ target: this.#node.address });
      sender.on('sendable', this.#pump);
      sender.on('sender_draining', () => {
        sender.set_drained(true);
      });
      for (const outcome of ['accepted', 'rejected', 'released', 'modified', 'settled'] as const)
        sender.on(outcome, ({ delivery }: EventContext) => {
          if (delivery) this.#onOutcome(delivery, outcome);
        });
      this.#sender = sender;
      this.#pump();
    } catch {
      // whoever waits has been told by #ended
    }
  }

  async #declare(waitsIn: SourceTopology): Promise<void> {
    try {
      await this.#declarer.source(this.#session.peer.host, waitsIn);
    } catch (error) {
      this.#session.fail(error as Error); // of the declarer
      throw error;
    }
  }

  readonly #pump = (): void => {
    const sender = this.#sender;
    if (!sender || !this.#session.isOpen) return;
    for (const sending of this.#waiting) {
      if (roomOf(sender) <= 0) return; // more credit, or more room, calls again
      this.#waiting.delete(sending);
      void this.#session.peer.turn();
      const delivery = sender.send(sending.outgoing.message);
      sending.sent(delivery);
      this.#underWay.set(delivery, sending);
    }
  };

  #onOutcome(
    delivery: Delivery,
    outcome: 'accepted' | 'rejected' | 'released' | 'modified' | 'settled',
  ): void {
    const sending = this.#underWay.get(delivery);
    if (!sending) return;
    this.#underWay.delete(delivery);
    if (!delivery.remote_settled) delivery.update(true); // else rhea does
    if (sending.isLate) this.#overdue -= 1;
    else if (outcome === 'accepted') sending.taken();
    else this.#notTaken(sending, delivery, outcome);
    this.#pump();
    this.#closeRetired();
  }

  #closeRetired(): void {
    if (this.#isRetired && this.isIdle) this.close();
  }

  #notTaken(
    sending: Sending,
    delivery: Delivery,
    outcome: 'rejected' | 'released' | 'modified' | 'settled',
  ): void {
    switch (outcome) {
      case 'released':
        if (this.#session.peer.form.releasedIsUnroutable) this.#unroutable(sending);
        else sending.fail(new SendAgain('it was released'));
        return;
      case 'modified':
        if (isUndeliverableHere(delivery)) this.#unroutable(sending);
        else sending.fail(new SendAgain('it was given back (modified)'));
        return;
      case 'rejected': {
        const why = rejectionOf(delivery);
        sending.fail(asPeerError(why, 'The broker rejected the message'));
        return;
      }
      case 'settled':
        sending.fail(
          new MessageDeliveryError('The broker settled the message without an outcome', {
            outcome: 'unknown',
          }),
        );
    }
  }

  /** Nobody has it. That is no failure where nobody had to. */
  #unroutable(sending: Sending): void {
    const { isFanout, place } = this.#node;
    if (this.#node.waitsIn) {
      this.#retire();
      sending.fail(new SendAgain('its queue was deleted'));
    } else if (!sending.outgoing.mandatory || isFanout) sending.taken();
    else sending.fail(new MessageUndeliverableError(`There is no ${place}: nobody has ever listened there`));
  }

  /** The next send has another one, which declares the queue again. */
  #retire(): void {
    this.#isRetired = true;
    this.#onEnd(this);
  }

  /** Nobody waits for its outcome any more; one that never came would keep its place in the ring of rhea, and all after it. */
  readonly #onLate = (sending: Sending): void => {
    if (this.#waiting.delete(sending)) return;
    if (sending.delivery && forget(sending.delivery)) {
      this.#underWay.delete(sending.delivery);
      this.#closeRetired();
      return;
    }
    this.#overdue += 1;
    if (this.#overdue >= MOST_OVERDUE)
      this.#session.fail(new Error(`The broker has not settled ${String(MOST_OVERDUE)} messages in time`));
  };

  #ended(cause: Error | undefined): void {
    this.#onEnd(this);
    const waiting = [...this.#waiting];
    const underWay = [...this.#underWay.values()].filter(({ isLate }) => !isLate);
    this.#waiting.clear();
    this.#underWay.clear();
    for (const sending of underWay) sending.fail(this.#lost(sending, cause));
    for (const sending of waiting) this.#notAttached(sending, cause);
  }

  #notAttached(sending: Sending, cause: Error | undefined): void {
    if (isNotFound(cause)) this.#unroutable(sending);
    else if (isRefused(cause) || cause instanceof ConfigurationError)
      sending.fail(asPeerError(cause, `Cannot send to ${this.#node.place}`));
    else sending.fail(new SendAgain(cause?.message ?? 'the connection was lost', { cause }));
  }

  /** A fanout exchange goes with its last queue: then nobody has what was under way to it. */
  #lost({ outgoing }: Sending, cause: Error | undefined): Error {
    const redacted = cause && redactedCause(cause);
    if (outgoing.repeatable || (this.#node.isFanout && isNotFound(cause)))
      return new SendAgain('the link was lost', { cause: redacted });
    const why = redacted ? `: ${redacted.message}` : '';
    return new MessageDeliveryError(`The link was lost before the broker settled the message${why}`, {
      outcome: 'unknown',
      cause: redacted,
    });
  }
}

function isUndeliverableHere({ remote_state }: Delivery): boolean {
  return (remote_state as { readonly undeliverable_here?: unknown } | undefined)?.undeliverable_here === true; // of `modified`
}

function rejectionOf({ remote_state }: Delivery): Error {
  const { error } = (remote_state ?? {}) as { readonly error?: unknown }; // of `rejected`
  return peerError(error) ?? new PeerError('amqp:rejected', 'without a reason');
}
