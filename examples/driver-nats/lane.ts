import * as core from '@ebbgate/core';
import { createInbox, type Msg, nanos } from '@nats-io/transport-node';
import { END_LIMIT_MS, type Session } from './link.js';
import type { Queue } from './queues.js';

const PULL_MS = 30_000;
/** A pull to which the server has said nothing for so long after its end is lost. */
const GRACE_MS = 5000;

/** The room that a listener has, over all its lanes, and the pulls that wait for some. */
export class Room {
  #waiting: (() => void)[] = [];
  free: number;

  constructor(credit: number) {
    this.free = credit;
  }

  give(): void {
    this.free += 1;
    for (const pull of this.#waiting.splice(0)) pull();
  }

  wait(pull: () => void, isFirst: boolean): void {
    if (isFirst) this.#waiting.unshift(pull);
    else this.#waiting.push(pull);
  }
}

/** What becomes of what a lane receives. */
export interface LaneEvents {
  message(msg: Msg): void;
  lost(error: Error): void;
}

/**
 * Pulls from one queue, one pull at a time, for as many messages as there is room. All lanes of a listener do so at
 * the same time: what then has no place goes back at once, for a sibling, and its lane is the next to get one.
 *
 * By hand rather than by the client's `fetch`, which forgets at its end what is on its way to it.
 *
 * @returns ends it: resolves when the server sends no more, and what it had sent has been handed over
 */
export function openLane(
  session: Session,
  queue: Queue,
  room: Room,
  events: LaneEvents,
): () => Promise<void> {
  const { connection, manager } = session;
  const { stream, consumer } = queue;
  const inbox = createInbox();
  /** Once one has gone back all of the same pull do, and before the next pull: so they keep their order. */
  const returned: Promise<unknown>[] = [];
  let asked = 0;
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;

  const pull = (isFirst = false): void => {
    if (isEnded || connection.isClosed()) return;
    if (room.free === 0) return room.wait(pull, isFirst);
    asked = room.free;
    timer = setTimeout(over, PULL_MS + GRACE_MS);
    const payload = JSON.stringify({ batch: asked, expires: nanos(PULL_MS) });
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, payload, { reply: inbox });
  };
  const over = (): void => {
    clearTimeout(timer);
    if (returned.length === 0) pull();
    else void Promise.all(returned.splice(0)).then(() => pull(true));
  };
  const receive = (error: Error | null, msg: Msg): void => {
    const { reply, headers: { code = 0, description = '' } = {} } = msg;
    if (!error && !reply && code === 408) return over(); // nothing came in time
    if (error || !reply)
      return isEnded ? undefined : events.lost(error ?? new Error(`${code} ${description}`));
    if (room.free > 0 && returned.length === 0) {
      room.free -= 1;
      events.message(msg);
    } else {
      const sent = connection.request(reply, '-NAK', { timeout: END_LIMIT_MS });
      returned.push(sent.catch(() => undefined)); // not confirmed: it comes again after the ack_wait
    }
    asked -= 1;
    if (asked === 0) over();
  };

  const subscription = connection.subscribe(inbox, { callback: receive });
  pull();
  return async () => {
    isEnded = true;
    clearTimeout(timer);
    if (connection.isClosed()) return;
    // A look at the consumer makes the server forget the pull: version 2.9 counts wrong when a message meets it.
    const drained = subscription.drain().then(() => manager.consumers.info(stream, consumer));
    const limit = { timeoutMs: END_LIMIT_MS };
    await core.within(drained, limit, () => new Error('late')).catch(() => undefined);
  };
}
