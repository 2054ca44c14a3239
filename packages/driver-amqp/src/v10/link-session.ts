import { within } from '@ebbgate/core';
import type { EventContext, Receiver, Sender, Session } from 'rhea';
import type { OnConnection, PeerConnection } from './peer-connection.js';
import { peerError } from './peer-errors.js';
import { isAnswered, newSession } from './rhea-parts.js';

const DETACH_MS = 3_000;
/** The peer answers so soon, or the session is given up. */
const ATTACH_MS = 10_000;
/** Of what is not settled; the fixed ring of rhea is an error when it is full. */
const LEAST_RING = 2_048;

/**
 * A session with the few links that belong together: RabbitMQ 3 ends the session, not the link, when an address is wrong.
 * The end of one is the end of all, told once. Here the events of rhea's sessions and links become promises and one call.
 */
export class LinkSession implements OnConnection {
  readonly peer: PeerConnection;
  readonly #session: Session;
  readonly #onEnd: (cause: Error | undefined) => void;
  readonly #links: (Receiver | Sender)[] = [];
  readonly #ended: Promise<Error | undefined>;
  #tellEnded: (cause: Error | undefined) => void = () => undefined;
  /** Nothing of it answers any more. */
  readonly #gone: Promise<void>;
  #tellGone: () => void = () => undefined;
  #state: 'open' | 'closing' | 'ended' = 'open';

  /**
   * @param onEnd - it is of no use any more; without a cause it went with its connection. Not told after `close`.
   * @param ring - most deliveries that are not settled at a time
   */
  constructor(peer: PeerConnection, onEnd: (cause: Error | undefined) => void, ring: number = LEAST_RING) {
    this.peer = peer;
    this.#onEnd = onEnd;
    this.#ended = new Promise((resolve) => (this.#tellEnded = resolve));
    this.#gone = new Promise((resolve) => (this.#tellGone = resolve));
    this.#session = newSession(peer.connection, Math.max(ring, LEAST_RING));
    let cause: Error | undefined;
    this.#session.on('session_error', () => {
      cause = peerError(this.#session.error);
    });
    this.#session.on('session_close', () => {
      this.#tellGone();
      this.#end(cause ?? new Error('The peer has ended the session'));
    });
    peer.sessions.add(this);
    this.#session.begin();
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Resolves when the peer has attached it; rejects with what ended the session first. */
  async attachReceiver(options: object): Promise<Receiver> {
    const receiver = this.#session.open_receiver({ credit_window: 0, autoaccept: false, ...options });
    await this.#attached(receiver, 'receiver', () => receiver.source);
    return receiver;
  }

  /** As {@link attachReceiver}. */
  async attachSender(options: object): Promise<Sender> {
    const sender = this.#session.open_sender({ treat_modified_as_released: false, ...options });
    await this.#attached(sender, 'sender', () => sender.target);
    return sender;
  }

  /** Resolves when the peer has detached it. */
  async detach(link: Receiver | Sender, kind: 'receiver' | 'sender'): Promise<void> {
    this.#forget(link);
    const detached = new Promise<void>((resolve) => link.once(`${kind}_close`, resolve));
    link.close();
    await Promise.race([detached, this.#ended]);
  }

  /**
   * Detaches its links, and ends it. True when the peer has detached them, and so has processed all that was written before;
   * false when it went without that, or the peer does not answer in time. Nobody waits for the answer to the end: RabbitMQ 3
   * sometimes stops the writer before it is written.
   */
  async close(): Promise<boolean> {
    if (this.#state !== 'open') return false;
    this.#state = 'closing';
    const isDetached = await this.#write();
    this.#leave();
    return isDetached;
  }

  /** At once, because of what is wrong with it. */
  fail(cause: Error): void {
    if (this.#state !== 'open') return;
    void this.#write();
    this.#end(cause);
  }

  onConnectionLost(): void {
    this.#tellGone();
    this.#end(undefined);
  }

  async #attached(
    link: Receiver | Sender,
    kind: 'receiver' | 'sender',
    remoteNode: () => unknown,
  ): Promise<void> {
    this.#links.push(link);
    let cause: Error | undefined;
    link.on(`${kind}_error`, () => {
      cause = peerError(link.error);
    });
    link.on(`${kind}_close`, (_context: EventContext) => {
      if (!this.#forget(link)) return; // we have detached it
      this.fail(cause ?? new Error('The peer has detached the link'));
    });
    const opened = new Promise<'opened'>((resolve) => {
      link.on(`${kind}_open`, () => {
        if (!isAnswered(link)) this.fail(new Error('The peer attached the link the wrong way round'));
        // An attach without a node is a refusal: the detach that says why follows.
        if (remoteNode() !== undefined && remoteNode() !== null) resolve('opened');
      });
    });
    const late = (): Error => new Error('The peer did not attach the link in time');
    const first = await within(Promise.race([opened, this.#ended]), { timeoutMs: ATTACH_MS }, late).catch(
      (error: unknown) => {
        this.fail(error as Error); // made above
        throw error;
      },
    );
    if (first !== 'opened') throw first ?? new Error('The connection was lost');
  }

  /** The links first; true when the peer has detached all of them. */
  async #write(): Promise<boolean> {
    const detached = this.#links.splice(0).map((link) => {
      const kind = link.is_receiver() ? 'receiver' : 'sender';
      const closed = new Promise((resolve) => link.once(`${kind}_close`, resolve));
      link.close();
      return closed;
    });
    const all = Promise.race([Promise.all(detached).then(() => true), this.#gone.then(() => false)]);
    const late = (): Error => new Error('late');
    const isDetached = await within(all, { timeoutMs: DETACH_MS }, late).catch(() => false);
    this.#session.close();
    return isDetached;
  }

  /** False when it was not among the links. */
  #forget(link: Receiver | Sender): boolean {
    const at = this.#links.indexOf(link);
    if (at < 0) return false;
    this.#links.splice(at, 1);
    return true;
  }

  #end(cause: Error | undefined): void {
    const state = this.#state;
    if (state === 'ended') return;
    this.#leave();
    this.#tellEnded(cause);
    if (state === 'open') this.#onEnd(cause);
  }

  #leave(): void {
    this.#state = 'ended';
    this.peer.sessions.delete(this);
  }
}
