import { createHash } from 'node:crypto';
import type { Destination } from '@ebbgate/core';
import * as js from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

/** The server removes a queue of one process when nothing has been received from it for so long. */
const PRIVATE_EXPIRES_MS = 600_000;

/**
 * Fanouts and replies go through this one stream, which keeps a message for the consumers that there are when it comes: a
 * private one for each listener and each reply queue.
 */
export const SHARED = {
  ...{ name: 'ebbgate_shared', subjects: ['ebbgate.fanout.*', 'ebbgate.reply.*'] },
  ...{ retention: js.RetentionPolicy.Interest, discard: js.DiscardPolicy.New },
};

/** What is received from: a consumer of a stream. */
export interface Queue {
  readonly stream: string;
  readonly consumer: string;
  declare(manager: js.JetStreamManager): Promise<unknown>;
}

/** Names are any text, and those of NATS are not. JSON keeps the parts apart, whatever is in them. */
export function nameOf(to: Destination): string {
  const parts = to.kind === 'reply' ? [to.address] : [to.exchange, to.topic];
  const text = JSON.stringify(to.kind === 'server' ? [...parts, to.server] : parts);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

export function subjectOf(to: Destination): string {
  return `ebbgate.${to.kind}.${nameOf(to)}`;
}

/** A topic or a server of it: a stream, so that there is somebody to say that it is there, and one consumer for all. */
export function sharedQueue(to: Destination, ackWaitMs: number): Queue {
  const stream = `ebbgate_${to.kind}_${nameOf(to)}`;
  const config = consumerConfig('queue', ackWaitMs);
  const declare = async (manager: js.JetStreamManager): Promise<void> => {
    const retention = js.RetentionPolicy.Workqueue;
    const discard = js.DiscardPolicy.New; // what there is no room for is refused, and nothing dropped for it
    await manager.streams.add({ name: stream, subjects: [subjectOf(to)], retention, discard });
    await manager.consumers.add(stream, config);
  };
  return { stream, consumer: 'queue', declare };
}

/** What comes for fanouts of a topic, or as replies, from now on. */
export function privateQueue(consumer: string, to: Destination, ackWaitMs: number): Queue {
  const config = {
    ...consumerConfig(consumer, ackWaitMs),
    ...{ filter_subject: subjectOf(to), deliver_policy: js.DeliverPolicy.New },
    inactive_threshold: nanos(PRIVATE_EXPIRES_MS),
  };
  return { stream: SHARED.name, consumer, declare: (manager) => manager.consumers.add(SHARED.name, config) };
}

function consumerConfig(name: string, ackWaitMs: number): Partial<js.ConsumerConfig> {
  const limits = { ack_wait: nanos(ackWaitMs), max_ack_pending: -1 };
  return { durable_name: name, ack_policy: js.AckPolicy.Explicit, ...limits };
}
