import { createHash } from 'node:crypto';
import type { Destination } from '@ebbgate/core';
import * as js from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

const discard = js.DiscardPolicy.New; // what there is no room for is refused, and nothing dropped for it

/** What is received from: a consumer of a stream. */
export interface Queue {
  readonly subject: string;
  readonly stream: Partial<js.StreamConfig> & { readonly name: string };
  readonly name: string;
  readonly config: Partial<js.ConsumerConfig>;
}

/** Names are any text, and those of NATS are not. JSON keeps the parts apart, whatever is in them. */
export function subjectOf(to: Destination): string {
  const parts = to.kind === 'reply' ? [to.address] : [to.exchange, to.topic];
  const text = JSON.stringify(to.kind === 'server' ? [...parts, to.server] : parts);
  return `ebbgate.${to.kind}.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

/** A topic or a server of it: a stream, so that there is somebody to say that it is there, and one consumer for all. */
export function sharedQueue(to: Destination): Queue {
  const subject = subjectOf(to);
  const limits = { retention: js.RetentionPolicy.Workqueue, discard };
  const stream = { name: subject.replaceAll('.', '_'), subjects: [subject], ...limits };
  return { subject, stream, name: 'queue', config: {} };
}

/** What comes for fanouts of a topic, or as replies, from now on: one stream keeps it for those who are there by then. */
export function privateQueue(to: Destination, owner = ''): Queue {
  const subject = subjectOf(to);
  const limits = { retention: js.RetentionPolicy.Interest, discard };
  const stream = { name: 'ebbgate_shared', subjects: ['ebbgate.fanout.*', 'ebbgate.reply.*'], ...limits };
  const config = { deliver_policy: js.DeliverPolicy.New, inactive_threshold: nanos(600_000) };
  return { subject, stream, name: subject.replaceAll('.', '_') + owner, config };
}

export async function declare(manager: js.JetStreamManager, queue: Queue, ackWaitMs: number): Promise<void> {
  await manager.streams.add(queue.stream);
  const limits = { ack_wait: nanos(ackWaitMs), max_ack_pending: -1, ack_policy: js.AckPolicy.Explicit };
  const names = { durable_name: queue.name, filter_subject: queue.subject };
  await manager.consumers.add(queue.stream.name, { ...queue.config, ...names, ...limits });
}
