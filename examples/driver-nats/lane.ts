import { createInbox, deferred, nanos, type Subscription } from '@nats-io/transport-node';
import type { Deliveries } from './deliveries.js';
import type { Link, Session } from './link.js';
import { driverError } from './messages.js';
import { declare, type Queue } from './queues.js';

export type Lane = ReturnType<typeof openLane>;

/** Keeps one queue subscribed, over all sessions, until it is ended: that resolves when the server sends no more. */
export function openLane(link: Link, queue: Queue, held: Deliveries, onChange: (cause?: Error) => void) {
  const opened = deferred<unknown>();
  let [failures, isEnded] = [0, false];
  let inbox: Subscription | undefined;

  const live = async (session: Session): Promise<void> => {
    if (!isEnded) await declare(session.manager, queue, link.silenceMs);
    if (isEnded) return;
    inbox = session.connection.subscribe(createInbox());
    held.begin();
    opened.resolve();
    onChange();
    await receive(session, queue, inbox, held);
  };
  const onFailure = (reason: unknown): Promise<void> => {
    const error = driverError(reason);
    failures = inbox ? 0 : failures + 1;
    inbox = undefined;
    held.forget(queue.subject);
    opened.reject(error);
    onChange(error);
    if (failures === 2) link.events.error(error);
    return link.pause(failures);
  };
  const run = async (): Promise<void> => {
    while (!isEnded && !link.closing.signal.aborted) await link.ready().then(live).catch(onFailure);
  };
  const running = run();
  const end = async (): Promise<void> => {
    isEnded = true;
    inbox?.drain().catch(() => undefined); // what it had received is handed over in any case
    held.changed();
    // A look at the consumer makes the server forget the pull: version 2.9 counts wrong when a message meets it.
    const look = link.session?.manager.consumers.info(queue.stream.name, queue.name);
    if (look) await Promise.allSettled([running, look]);
  };
  opened.catch(() => undefined); // perhaps nobody waits for it
  return { opened, isOpen: () => inbox !== undefined, end };
}

/**
 * Asks for as much as there is room for, as is done for the other queues at the same time. What then has no place goes
 * back at once, and all that follows it before the next pull: so they keep their order.
 */
async function receive({ connection }: Session, queue: Queue, inbox: Subscription, held: Deliveries) {
  const returned: Promise<unknown>[] = [];
  let asked = 0;
  const ask = async (): Promise<void> => {
    const isFirst = returned.length > 0;
    await Promise.all(returned.splice(0));
    while (held.room() === 0 && !inbox.isDraining()) await held.change(isFirst);
    if (inbox.isDraining() || connection.isClosed()) return;
    asked = held.room();
    const payload = JSON.stringify({ batch: asked, expires: nanos(30_000) });
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${queue.stream.name}.${queue.name}`;
    connection.publish(subject, payload, { reply: inbox.getSubject() });
  };
  await ask();
  for await (const msg of inbox) {
    const { code = 0, description = '' } = msg.headers ?? {};
    if (!msg.reply && code !== 408) throw new Error(`${code} ${description}`);
    asked = msg.reply ? asked - 1 : 0; // or nothing came in time
    if (msg.reply && held.room() > 0 && returned.length === 0) held.add(msg, connection);
    else if (msg.reply) returned.push(held.send(msg, connection, '-NAK'));
    if (asked === 0) await ask();
  }
  if (!inbox.isDraining()) throw new Error('the connection was closed');
}
