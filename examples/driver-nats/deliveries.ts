import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { OnDelivery } from './listener.js';
import { received } from './messages.js';

export type Deliveries = ReturnType<typeof createDeliveries>;

/** What a listener has handed over and not settled, from all its queues: never more than its credit. */
export function createDeliveries(credit: number, ackWaitMs: number, onDelivery: OnDelivery) {
  const held = new Set<Msg>();
  const settling = new Set<Promise<boolean>>();
  const waiting: (() => void)[] = [];
  let [unconfirmed, isClosed, claimedAt] = [0, false, performance.now()];

  const room = (): number => (isClosed ? 0 : credit - held.size);
  /** Resolves when it is worth while to look at the room again. */
  const change = (isFirst: boolean): Promise<void> =>
    new Promise((resolve) => waiting[isFirst ? 'unshift' : 'push'](resolve));
  const changed = (): void => waiting.splice(0).forEach((resolve) => resolve());

  /** Resolves with true when the server has confirmed it. */
  const send = async ({ reply = '' }: Msg, connection: NatsConnection, how: string): Promise<boolean> => {
    const sent = connection.request(reply, how, { timeout: 5000 }).then(Boolean, () => false);
    settling.add(sent);
    if (!(await sent)) unconfirmed += 1;
    settling.delete(sent);
    return sent;
  };
  const add = (msg: Msg, connection: NatsConnection): void => {
    held.add(msg);
    const settle = async (how: '+ACK' | '-NAK' | '+TERM'): Promise<boolean> => {
      const isOurs = held.delete(msg) && !isLate() && !connection.isClosed();
      changed();
      return isOurs && send(msg, connection, how);
    };
    const release = (): void => void settle('-NAK');
    const reject = (): void => void settle('+TERM');
    onDelivery({ ...received(msg), accept: () => settle('+ACK'), release, reject });
  };

  /** The process has slept for so long that the server has given to somebody else what is held. */
  const isLate = (): boolean => performance.now() > claimedAt + ackWaitMs;
  const claiming = setInterval(() => {
    if (isLate()) held.clear();
    claimedAt = performance.now();
    for (const msg of held) msg.respond('+WPI');
  }, ackWaitMs / 4);

  /** With a new subscription: what was not confirmed before has come again. */
  const begin = (): void => void (unconfirmed = 0);
  /** They come again, here or elsewhere, after the ack_wait: what is done with them has no effect any more. */
  const forget = (subject: string): void =>
    held.forEach((msg) => msg.subject === subject && held.delete(msg));
  /** Gives back what is left. @returns how many acknowledgements were not confirmed */
  const close = async (): Promise<number> => {
    isClosed = true;
    clearInterval(claiming);
    for (const msg of held) msg.respond('-NAK');
    held.clear();
    await Promise.all(settling);
    return unconfirmed;
  };
  return { room, change, changed, send, add, begin, forget, close };
}
