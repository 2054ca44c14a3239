import type { Transport } from '@ebbgate/core';
import { type AmqpEvent, AmqpPeer } from '../support/rigs/amqp-peer.js';
import { Bed, source } from './bed.js';

const JSON_TYPE = { contentType: 'application/json' };

/** A transport that consumes from a scripted peer, and the peer's view of it. */
export class PeerBed extends Bed {
  readonly peer: AmqpPeer;
  readonly where = source();
  #own: Transport | undefined;

  private constructor(peer: AmqpPeer) {
    super();
    this.peer = peer;
  }

  static async start(settings: Parameters<typeof AmqpPeer.start>[0] = {}): Promise<PeerBed> {
    const bed = new PeerBed(await AmqpPeer.start(settings));
    bed.onEnd(() => bed.peer.close());
    bed.#own = await bed.connected(bed.peer.url());
    return bed;
  }

  get own(): Transport {
    if (!this.#own) throw new Error('It has not started');
    return this.#own;
  }

  readonly isSubscribed = (): boolean => this.own.status().listeners[0]?.subscribed === true;

  /** The consumer of the topic, the latest of it. */
  get consumer(): AmqpEvent {
    const found = this.peer
      .received('basic.consume')
      .findLast(({ args }) => args['queue'] === this.where.topic);
    if (!found) throw new Error('Nobody consumes the topic');
    return found;
  }

  /** Of that consumer. */
  get tag(): string {
    return `amq.ctag-${String(this.consumer.args['queue'])}`;
  }

  /** Delivers to that consumer. */
  deliver(deliveryTag: number, body = '{}', properties: Readonly<Record<string, string>> = JSON_TYPE): void {
    const { connection, channel } = this.consumer;
    connection.deliver(channel, this.tag, deliveryTag, { properties, body });
  }

  /** All acknowledgements and rejections so far, in order. */
  get settled(): string[] {
    return this.peer.events
      .filter(({ name }) => name === 'basic.ack' || name === 'basic.reject')
      .map(({ name, args }) => `${name} ${String(args['deliveryTag'])}`);
  }
}
