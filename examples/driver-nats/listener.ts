import * as core from '@ebbgate/core';
import { createDeliveries } from './deliveries.js';
import { type Lane, openLane } from './lane.js';
import type { Link } from './link.js';
import { driverError } from './messages.js';
import type { Queue } from './queues.js';

export type OnDelivery = (delivery: core.Delivery) => void;
/** The source is told with it; that of replies has none, and nobody is told. */
export type Parts = core.ListenOptions & { source?: core.ServerSource; onDelivery: OnDelivery };
export type Listener = core.Listener & { status(): core.ListenerStatus | undefined };

/** A lane for each queue while that is wished: one wish, and one change at a time towards it. The last queue is its own. */
export async function openListener(link: Link, queues: readonly Queue[], parts: Parts): Promise<Listener> {
  const { credit, source, onDelivery } = parts;
  const deliveries = createDeliveries(credit, link.silenceMs, onDelivery);
  let [wish, turn]: ['listen' | 'pause' | 'stop', Promise<void>] = ['listen', Promise.resolve()];
  let [lanes, wasSubscribed]: [readonly Lane[], boolean] = [[], false];
  let closed: Promise<readonly string[]> | undefined;

  const status = (): core.ListenerStatus | undefined => {
    const subscribed = wish === 'listen' && lanes.length > 0 && lanes.every((lane) => lane.isOpen());
    return source && { source, subscribed };
  };
  const tell = (cause?: Error): void => {
    const now = status();
    if (now && now.subscribed !== wasSubscribed) link.events.listener(now, cause);
    wasSubscribed = now?.subscribed ?? false;
  };
  const change = async (): Promise<void> => {
    const open = (queue: Queue): Lane => openLane(link, queue, deliveries, tell);
    const ended = wish === 'listen' ? [] : lanes;
    if (wish !== 'listen') lanes = [];
    else if (lanes.length === 0) lanes = link.scope.runInAsyncScope(() => queues.map(open));
    tell();
    await inTime(Promise.all(ended.map((lane) => lane.end())));
  };
  const become = (next: typeof wish): Promise<void> => {
    if (wish !== 'stop') wish = next;
    return (turn = turn.then(change));
  };
  const opened = (): Promise<unknown> => Promise.all(lanes.map((lane) => lane.opened));
  const resume = async (): Promise<void> => {
    await become('listen');
    if (link.session) await inTime(opened());
  };
  /** No more deliveries; then what was settled; then what was not; then the queue that is its own. */
  const end = async (): Promise<readonly string[]> => {
    await become('stop');
    const count = await deliveries.close();
    const own = queues.at(-1);
    const isRemoved = await inTime(own && link.session?.manager.consumers.delete(own.stream.name, own.name));
    link.listeners.delete(listener);
    const unconfirmed = count > 0 ? [`${count} acknowledgements were not confirmed`] : [];
    return isRemoved ? unconfirmed : [...unconfirmed, 'its own queue is left for the server to remove'];
  };
  const close = (): Promise<readonly string[]> => (closed ??= end());
  const listener = { status, pause: () => become('pause'), resume, stop: () => become('stop'), close };

  link.listeners.add(listener);
  try {
    await become('listen');
    await link.unlessClosed(opened());
    return listener;
  } catch (error) {
    void close();
    throw driverError(error);
  }
}

/** What ends waits no longer for its confirmation. @returns undefined when it failed or is late */
export async function inTime<T>(work?: Promise<T>, timeoutMs = 2000): Promise<T | undefined> {
  return work && core.within(work, { timeoutMs }, () => new Error('late')).catch(() => undefined);
}
