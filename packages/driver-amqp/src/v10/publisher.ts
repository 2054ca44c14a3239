import { setTimeout as pause } from 'node:timers/promises';
import { type Destination, MessageDeliveryError, TransportClosedError, within } from '@ebbgate/core';
import { closedError, type ConnectionUser, type HeldConnection } from '../held-connection.js';
import type { TargetNode } from './address-form.js';
import type { Declarer } from './declarer.js';
import type { Amqp10Settings } from './options.js';
import type { PeerConnection } from './peer-connection.js';
import { SenderLink } from './sender-link.js';
import { type Outgoing, SendAgain } from './sending.js';

/** Nodes that are sent to at a time; each has a session, of which brokers allow some thousands. */
const MOST_LINKS = 256;

/** Sends, with a link for each node. Links that were not used for longest make room for others. */
export class Publisher implements ConnectionUser<PeerConnection> {
  readonly #connection: HeldConnection<PeerConnection>;
  /** By address, the last used last. */
  readonly #links = new Map<string, SenderLink>();
  readonly #settings: Amqp10Settings;
  readonly #declarer: Declarer;
  /** The transport hands in the same object again and again. */
  #nodes = new WeakMap<Destination, TargetNode>();
  #underWay = 0;
  #onIdle: (() => void) | undefined;

  constructor(connection: HeldConnection<PeerConnection>, settings: Amqp10Settings, declarer: Declarer) {
    this.#connection = connection;
    this.#settings = settings;
    this.#declarer = declarer;
    connection.users.add(this);
  }

  onUp(): void {
    // links are made by the next sends
  }

  onDown(): void {
    this.#links.clear(); // each has heard of it
    this.#nodes = new WeakMap(); // the next broker may have other addresses
  }

  async send(outgoing: Outgoing): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#sendAll(outgoing);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onIdle?.();
    }
  }

  /** Resolves when what was sent is settled, or when the time is over. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#underWay === 0) return;
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve));
    await within(idle, { timeoutMs }, () => new Error('late')).catch(() => undefined);
  }

  /** Retry and deadline bound all of it. */
  async #sendAll(outgoing: Outgoing): Promise<void> {
    let last: SendAgain | undefined;
    for (let failed = 0; ; failed += 1) {
      if (last) await this.#beforeRetry(outgoing, failed, last);
      const peer = await this.#connection.whenUp(outgoing.deadline, outgoing.retry);
      try {
        await this.#linkTo(peer, outgoing).send(outgoing);
        return;
      } catch (error) {
        if (!(error instanceof SendAgain)) throw this.#toldAs(error);
        last = error;
      }
    }
  }

  async #beforeRetry({ retry, deadline }: Outgoing, failed: number, last: SendAgain): Promise<void> {
    if (deadline.expired || (retry !== undefined && failed > retry))
      throw new MessageDeliveryError(`The broker did not take the message: ${last.message}`, last);
    // The first time at once; a broker that gives everything back must not be asked at full speed.
    if (failed < 2) return;
    const ms = Math.min(10 * 2 ** failed, 1000, deadline.remainingMs);
    await pause(ms, undefined, { signal: this.#connection.whileOpen }).catch(() => undefined); // closed meanwhile
  }

  #linkTo(peer: PeerConnection, { destination }: Outgoing): SenderLink {
    if (this.#connection.state === 'closed') throw closedError();
    let node = this.#nodes.get(destination);
    if (!node) {
      node = peer.form.target(this.#settings, destination);
      this.#nodes.set(destination, node);
    }
    return this.#link(peer, node);
  }

  #link(peer: PeerConnection, node: TargetNode): SenderLink {
    const known = this.#links.get(node.address);
    this.#links.delete(node.address);
    const link =
      known ??
      new SenderLink(peer, node, this.#declarer, (ended) => {
        if (this.#links.get(node.address) === ended) this.#links.delete(node.address);
      });
    this.#links.set(node.address, link);
    if (!known) this.#makeRoom();
    return link;
  }

  #makeRoom(): void {
    const most = Math.min(MOST_LINKS, this.#connection.model?.connection.channel_max ?? MOST_LINKS);
    for (const [address, link] of this.#links) {
      if (this.#links.size <= most) return;
      if (!link.isIdle) continue;
      this.#links.delete(address);
      link.close();
    }
  }

  /** What was under way when the transport was closed. */
  #toldAs(error: unknown): unknown {
    const isUnknown = error instanceof MessageDeliveryError && error.outcome === 'unknown';
    if (this.#connection.state !== 'closed' || !isUnknown) return error;
    return new TransportClosedError('The transport was closed', { outcome: 'unknown', cause: error.cause });
  }
}
