import * as core from '@ebbgate/core';
import type { Msg } from '@nats-io/transport-node';
import { openLane, Room } from './lane.js';
import { END_LIMIT_MS, type Link, type Session } from './link.js';
import { driverError, isRedelivered, messageOf } from './messages.js';
import type { Queue } from './queues.js';

const SETTLE_LIMIT_MS = 5000;

/** What a listener is made of. The last queue is its own. */
export interface ListenerParts {
  readonly link: Link;
  readonly queues: readonly Queue[];
  readonly credit: number;
  readonly ackWaitMs: number;
  readonly events: core.DriverEvents;
  /** Of nobody who is told: of replies. */
  readonly source: core.ServerSource | undefined;
  readonly onDelivery: (delivery: core.Delivery) => void;
  readonly onClosed: () => unknown;
}

/** Keeps queues subscribed for as long as that is wished: one wish, and one change at a time towards it. */
export class NatsListener implements core.Listener {
  readonly #parts: ListenerParts;
  #wish: 'listen' | 'pause' | 'stop' = 'listen';
  #turn: Promise<unknown> = Promise.resolve();
  /** What ends each of them. */
  #lanes: readonly (() => Promise<void>)[] = [];
  #room: Room;
  /** What is not settled, and until when it is surely ours. */
  readonly #held = new Map<Msg, number>();
  readonly #settling = new Set<Promise<boolean>>();
  readonly #claiming: NodeJS.Timeout;
  #unconfirmed = 0;
  #closed: Promise<readonly string[]> | undefined;

  constructor(parts: ListenerParts) {
    this.#parts = parts;
    this.#room = new Room(parts.credit);
    this.#claiming = setInterval(() => this.#claim(), parts.ackWaitMs / 4);
  }

  get status(): core.ListenerStatus | undefined {
    const { source } = this.#parts;
    return source && { source, subscribed: this.#subscribed };
  }

  get #subscribed(): boolean {
    return this.#wish === 'listen' && this.#lanes.length > 0;
  }

  /** The first subscription: waits for a server that is away or silent, and rejects when it refuses. */
  async start(): Promise<void> {
    const { link } = this.#parts;
    for (let failures = 0; !this.#subscribed; failures += 1) {
      const session = await link.ready();
      try {
        await this.#change();
      } catch (reason) {
        const error = driverError(reason, 'unknown');
        if (error.outcome !== 'unknown' && link.session === session) throw error;
        await link.pause(failures);
      }
      if (this.#wish === 'stop') throw new core.TransportClosedError('The listener was closed');
    }
  }

  pause(): Promise<void> {
    return this.#end('pause');
  }

  async resume(): Promise<void> {
    if (this.#wish === 'pause') this.#wish = 'listen';
    await this.revive();
  }

  stop(): Promise<void> {
    return this.#end('stop');
  }

  close(): Promise<readonly string[]> {
    return (this.#closed ??= this.#close());
  }

  /** Subscribes again, if that is wished, for as long as there is a session; when it is lost the next one does. */
  async revive(): Promise<void> {
    const { link, events } = this.#parts;
    const isDue = (): boolean =>
      this.#wish === 'listen' && this.#lanes.length === 0 && link.session !== undefined;
    for (let failures = 0; isDue(); failures += 1) {
      try {
        await this.#change();
      } catch (error) {
        if (failures === 0 && isDue()) events.error(driverError(error));
        await link.pause(failures);
      }
    }
  }

  /** The session or a queue is gone. What was not settled comes again, here or elsewhere, after the ack_wait. */
  lost(cause: Error): void {
    const lanes = this.#lanes;
    this.#lanes = [];
    this.#held.clear();
    this.#room = new Room(this.#parts.credit);
    for (const end of lanes) void end();
    if (lanes.length > 0) this.#tell(cause);
  }

  #end(wish: 'pause' | 'stop'): Promise<void> {
    if (this.#wish !== 'stop') this.#wish = wish;
    return this.#change();
  }

  /** The next change begins when the last has ended, well or not. */
  #change(): Promise<void> {
    const change = this.#turn.then(() => (this.#wish === 'listen' ? this.#subscribe() : this.#unsubscribe()));
    this.#turn = change.catch(() => undefined);
    return change;
  }

  async #subscribe(): Promise<void> {
    const { link, queues } = this.#parts;
    const { session } = link;
    if (!session || this.#lanes.length > 0) return;
    for (const queue of queues) await queue.declare(session.manager);
    if (link.session !== session) throw new core.MessageDeliveryError('The connection was lost');
    const room = this.#room;
    const message = (msg: Msg): void => this.#deliver(msg, session, room);
    const lost = (error: Error): void => {
      this.lost(driverError(error));
      void this.revive();
    };
    this.#lanes = queues.map((queue) => openLane(session, queue, room, { message, lost }));
    this.#unconfirmed = 0;
    this.#tell();
  }

  #tell(cause?: Error): void {
    if (this.status) this.#parts.events.listener(this.status, cause);
  }

  async #unsubscribe(): Promise<void> {
    await Promise.all(this.#lanes.map((end) => end()));
    this.#lanes = [];
  }

  #deliver(msg: Msg, session: Session, room: Room): void {
    this.#held.set(msg, performance.now() + this.#parts.ackWaitMs);
    const settle = async (how: '+ACK' | '-NAK' | '+TERM'): Promise<boolean> => {
      room.give();
      const isOurs = (this.#held.get(msg) ?? 0) > performance.now();
      return this.#held.delete(msg) && isOurs && this.#settle(msg, session, how);
    };
    this.#parts.onDelivery({
      message: messageOf(msg),
      redelivered: isRedelivered(msg),
      accept: () => settle('+ACK'),
      release: () => void settle('-NAK'),
      reject: () => void settle('+TERM'),
    });
  }

  /** Resolves with true when the server has confirmed it. */
  async #settle({ reply = '' }: Msg, { connection }: Session, how: string): Promise<boolean> {
    const settled = connection.request(reply, how, { timeout: SETTLE_LIMIT_MS }).then(
      () => true,
      () => false,
    );
    this.#settling.add(settled);
    if (!(await settled)) this.#unconfirmed += 1;
    this.#settling.delete(settled);
    return settled;
  }

  /** What the server hears nothing of for the ack_wait it gives to somebody else. */
  #claim(): void {
    const now = performance.now();
    for (const [msg, until] of this.#held)
      if (until > now && msg.respond('+WPI')) this.#held.set(msg, now + this.#parts.ackWaitMs);
  }

  /** No more deliveries; then what was settled; then what was not; then the queue that is its own. */
  async #close(): Promise<readonly string[]> {
    const { link, queues } = this.#parts;
    await this.stop();
    clearInterval(this.#claiming);
    for (const msg of this.#held.keys()) msg.respond('-NAK');
    this.#held.clear();
    await Promise.all(this.#settling);
    const unconfirmed =
      this.#unconfirmed > 0 ? [`${this.#unconfirmed} acknowledgements were not confirmed`] : [];
    const { stream, consumer } = queues.at(-1) ?? { stream: '', consumer: '' };
    const removed = link.session?.manager.consumers.delete(stream, consumer) ?? Promise.resolve(false);
    this.#parts.onClosed();
    const late = (): Error => new Error('late');
    const isRemoved = await core.within(removed, { timeoutMs: END_LIMIT_MS }, late).catch(() => false);
    return isRemoved ? unconfirmed : [...unconfirmed, `${consumer} was not removed; the server will do that`];
  }
}
