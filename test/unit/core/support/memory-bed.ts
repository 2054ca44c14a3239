import { randomUUID } from 'node:crypto';
import {
  createTransport,
  Deadline,
  type Delivery,
  type Destination,
  type MaybePromise,
  memoryFaults,
  type MemoryFaults,
  type ServerSource,
  type Transport,
  type TransportOptions,
  TransportUrl,
  type WireMessage,
} from '@ebbgate/core';
import { SOURCE, wireMessage } from './scripted-driver.js';

export const TOPIC: Destination = { kind: 'topic', exchange: SOURCE.exchange, topic: SOURCE.topic };
export const SERVER: Destination = { kind: 'server', ...SOURCE };
export const FANOUT: Destination = { kind: 'fanout', exchange: SOURCE.exchange, topic: SOURCE.topic };

/** A broker in the process that nobody else has. */
export class MemoryBed {
  readonly url: string;
  readonly faults: MemoryFaults;

  constructor(query = '') {
    this.url = `memory://${randomUUID()}/${query}`;
    this.faults = memoryFaults(TransportUrl.parse(this.url));
  }

  transport(options: TransportOptions = {}): Transport {
    return createTransport(this.url, options);
  }
}

export function send(
  transport: Transport,
  destination: Destination = TOPIC,
  message: string | WireMessage = wireMessage(),
  mandatory = true,
): MaybePromise<void> {
  return transport.publish(destination, typeof message === 'string' ? wireMessage(message) : message, {
    deadline: Deadline.after(10_000),
    mandatory,
    retry: undefined,
  });
}

/** A listener whose deliveries stay unsettled until the test does something with them. */
export async function listenTo(transport: Transport, credit = 10, source: ServerSource = SOURCE) {
  const deliveries: Delivery[] = [];
  const listener = await transport.listen(source, { credit }, (delivery) => deliveries.push(delivery));
  const ids = (): (string | undefined)[] => deliveries.map(({ message }) => message.id);
  return { deliveries, ids, listener };
}
