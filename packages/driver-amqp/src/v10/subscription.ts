import type { Delivery as RheaDelivery } from 'rhea';
import type { SourceSubscription } from '../source-listener.js';
import { unreadableMessage } from '../unreadable-message.js';
import { CreditLink, type SourceNode } from './credit-link.js';
import { Amqp10Delivery, type Settling } from './delivery.js';
import { LinkSession } from './link-session.js';
import { fromAmqp, isRedelivered } from './messages.js';
import type { PeerConnection } from './peer-connection.js';
import { readSections } from './sections.js';

/** What a subscription is made of. */
export interface SubscriptionParts {
  /** Most deliveries handed over and not settled. */
  readonly credit: number;
  /** Makes what is received from, where that is to be made; each time anew. */
  readonly prepare: (peer: PeerConnection) => Promise<readonly SourceNode[]>;
  /** Removes what is the listener's alone, once nothing is attached to it. */
  readonly remove: (peer: PeerConnection) => Promise<void>;
  readonly onDelivery: (delivery: Amqp10Delivery) => void;
  readonly onLost: (cause: Error | undefined) => void;
}

/**
 * One try at receiving: a session, its links, and what they have brought and is not settled. Each link is granted as much as
 * there is room for, as any of them may be the busy one. What comes beyond it goes back when others may have it, else it is
 * kept until there is room.
 */
export class Subscription implements SourceSubscription<PeerConnection>, Settling {
  readonly #parts: SubscriptionParts;
  readonly #held = new Set<Amqp10Delivery>();
  #kept: Amqp10Delivery[] = [];
  #links: CreditLink[] = [];
  #session: LinkSession | undefined;
  #isOpen = false;
  #isConsuming = false;
  #isDue = false;
  #cancelling: Promise<void> | undefined;
  /** How much was settled, and how much of that the broker has processed for sure. */
  #settled = 0;
  #confirmed = 0;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  get isUnsure(): boolean {
    return this.#settled > this.#confirmed;
  }

  /** The address of its first node: the broker may have named it. */
  get address(): string | undefined {
    return this.#links[0]?.address;
  }

  async open(peer: PeerConnection): Promise<void> {
    const nodes = await this.#parts.prepare(peer);
    const ring = 2 * nodes.length * this.#parts.credit;
    const session = new LinkSession(
      peer,
      (cause) => {
        this.#lost(cause);
      },
      ring,
    );
    this.#session = session;
    for (const node of nodes) this.#links.push(await CreditLink.attach(session, node, this.#onMessage));
    if (!session.isOpen) throw new Error('The session was ended');
    this.#isOpen = true;
    await this.consume();
  }

  /** After a `cancel` that is under way: what is granted before its end would be taken back with the rest. */
  async consume(): Promise<void> {
    this.#isConsuming = true;
    await this.#cancelling;
    this.#fill();
  }

  /** Not needed: no queue of ours goes with its last consumer. */
  hold(): void {
    this.#isConsuming = false;
  }

  cancel(): Promise<void> {
    this.#isConsuming = false;
    this.#cancelling ??= this.#takeBack().finally(() => {
      this.#cancelling = undefined;
    });
    return this.#cancelling;
  }

  async #takeBack(): Promise<void> {
    const settled = this.#settled;
    const answers = await Promise.all(this.#links.map((link) => link.takeBack()));
    if (answers.includes(true)) this.#confirmed = settled; // what was written before is processed before
    if (this.#isStillOff()) this.#releaseKept();
  }

  async close(forGood: boolean): Promise<boolean> {
    const session = this.#session;
    this.#isConsuming = false;
    this.#releaseKept();
    for (const delivery of [...this.#held]) delivery.release();
    if (!session?.isOpen) return !this.isUnsure;
    const isConfirmed = await session.close();
    this.#end();
    if (isConfirmed) this.#confirmed = this.#settled;
    if (forGood) await this.#parts.remove(session.peer);
    return isConfirmed;
  }

  leave(delivery: Amqp10Delivery): boolean {
    if (!this.#held.delete(delivery)) return false;
    this.#settled += 1;
    void this.#session?.peer.turn();
    this.#beDue();
    return true;
  }

  async written(): Promise<boolean> {
    const session = this.#session;
    return session !== undefined && (await session.peer.turn()) && session.isOpen;
  }

  /** A method, as it changes while others are awaited. */
  #isStillOff(): boolean {
    return !this.#isConsuming;
  }

  readonly #onMessage = (bytes: Buffer, raw: RheaDelivery, link: CreditLink): void => {
    const delivery = this.#read(bytes, raw);
    if (this.#room > 0) this.#handOver(delivery);
    else if (link.isShared) {
      this.#held.add(delivery);
      delivery.release();
    } else this.#kept.push(delivery);
  };

  #read(bytes: Buffer, raw: RheaDelivery): Amqp10Delivery {
    try {
      const sections = readSections(bytes);
      return new Amqp10Delivery(fromAmqp(sections), isRedelivered(sections), raw, this);
    } catch (error) {
      // its server refuses, counts and reports it
      return new Amqp10Delivery(unreadableMessage(error, bytes.byteLength), false, raw, this);
    }
  }

  get #room(): number {
    return this.#parts.credit - this.#held.size - this.#kept.length;
  }

  #handOver(delivery: Amqp10Delivery): void {
    this.#held.add(delivery);
    this.#parts.onDelivery(delivery);
  }

  /** Once in a turn of the event loop, and never from within a call of the owner. */
  #beDue(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#fill();
    });
  }

  /** Hands over what was kept, then grants what there is room for. */
  #fill(): void {
    const { credit } = this.#parts;
    while (this.#kept.length > 0 && this.#held.size < credit)
      this.#handOver(this.#kept.shift() as Amqp10Delivery); // there is one
    if (!this.#isConsuming || this.#cancelling || !this.#session?.isOpen) return;
    for (const link of this.#links) link.grantUpTo(this.#room);
  }

  /** Back to their queues, in order. */
  #releaseKept(): void {
    for (const delivery of this.#kept.splice(0)) {
      this.#held.add(delivery);
      delivery.release();
    }
  }

  #lost(cause: Error | undefined): void {
    const wasOpen = this.#isOpen;
    this.#end();
    if (wasOpen) this.#parts.onLost(cause);
  }

  #end(): void {
    this.#isOpen = false;
    this.#isConsuming = false;
    this.#held.clear(); // the broker gives them to somebody
    this.#kept = [];
    for (const link of this.#links) link.end();
  }
}
