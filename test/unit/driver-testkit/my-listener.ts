import * as core from '@ebbgate/core';
import type { Client, Consumer, Incoming } from './broker-client.js';

/** One name from several. What separates them is encoded within each: no two lists make the same name. */
export const nameOf = (...parts: readonly string[]): string => parts.map(encodeURIComponent).join('/');

export function queueOf(to: core.Destination): string {
  if (to.kind === 'reply') return to.address;
  return to.kind === 'server' ? nameOf(to.exchange, to.topic, to.server) : nameOf(to.exchange, to.topic);
}

export function messageOf({ body, headers: { id, deadline: at } }: Incoming): core.WireMessage {
  const deadline = at === undefined ? undefined : core.Deadline.atEpochMs(at);
  return { id, body: core.bytesBody(body), deadline, expirationMs: undefined };
}

export type OnDelivery = (delivery: core.Delivery) => void;

export async function openListener(
  client: Client,
  source: core.ServerSource,
  credit: number,
  onDelivery: OnDelivery,
) {
  const fanout = core.secretId();
  const queues = [queueOf({ ...source, kind: 'server' }), queueOf({ ...source, kind: 'topic' }), fanout];
  const held = new Set<Incoming>();
  let [wish, turn]: ['listen' | 'pause' | 'stop', Promise<void>] = ['listen', Promise.resolve()];
  let consumer: Consumer | undefined;

  const settle = (incoming: Incoming, how: 'ack' | 'requeue'): boolean => {
    const live = held.delete(incoming); // otherwise its channel is gone
    if (live) incoming[how]();
    return live;
  };
  const onIncoming = (incoming: Incoming): void => {
    held.add(incoming);
    const accept = (): boolean => settle(incoming, 'ack');
    const release = (): boolean => settle(incoming, 'requeue');
    const { redelivered } = incoming;
    onDelivery({ message: messageOf(incoming), redelivered, accept, release, reject: accept });
  };
  const change = async (): Promise<void> => {
    if (wish === 'listen') consumer ??= await client.consume(queues, credit, onIncoming);
    else {
      await consumer?.cancel(); // resolves when the broker has confirmed that it sends no more
      consumer = undefined;
    }
  };
  const become = (next: typeof wish): Promise<void> => {
    if (wish !== 'stop') wish = next; // a stop is final
    turn = turn.then(change); // one change at a time
    return turn;
  };
  const close = async (): Promise<readonly string[]> => {
    await become('stop');
    for (const incoming of held) settle(incoming, 'requeue');
    await client.remove(fanout);
    return []; // all is confirmed
  };

  for (const queue of queues)
    await client.declare(queue, queue === fanout ? nameOf(source.topic) : undefined);
  await become('listen');
  const verbs = {
    pause: () => become('pause'),
    resume: () => become('listen'),
    stop: () => become('stop'),
    close,
  };
  return { ...verbs, status: () => ({ source, subscribed: wish === 'listen' && consumer !== undefined }) };
}
