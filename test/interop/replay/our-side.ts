import { rm } from 'node:fs/promises';
import { createTransport, type Transport } from '@ebbgate/core';
import { createRabbitDriver } from '@ebbgate/driver-amqp';
import { CapturedLog } from '../../support/captured-log.js';
import { type AmqpEvent, AmqpPeer } from '../../support/rigs/amqp-peer.js';
import { without } from './capture.js';

type Args = Readonly<Record<string, unknown>>;

/** Ours against a peer that notes all that is sent and answers as a broker without objection. */
export class OurSide {
  readonly peer: AmqpPeer;
  readonly transport: Transport;
  readonly log: CapturedLog = new CapturedLog();
  readonly #options: Args;

  private constructor(peer: AmqpPeer, options: Args) {
    this.peer = peer;
    this.#options = options;
    this.transport = createTransport(peer.url(), {
      drivers: [createRabbitDriver(options)], // as written in the table of cases
      logger: this.log,
    });
  }

  static async start(options: Args = {}): Promise<OurSide> {
    const peer = await AmqpPeer.start();
    try {
      return new OurSide(peer, options);
    } catch (error) {
      await peer.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.transport.close();
    await this.peer.close();
    const { hostname, processname } = this.#options;
    if (typeof hostname === 'string' && typeof processname === 'string')
      // where the queue manager counts
      await rm(`/dev/shm/${hostname}_${processname}_qmanager`, { force: true });
  }
}

const SNAKE = /[A-Z]/g;

/** Names as the recordings have them. */
export function snakeCase(table: Args): Record<string, unknown> {
  const entries = Object.entries(table).map(([name, value]) => [
    name.replace(SNAKE, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>; // names are text
}

/** A message's properties for the peer to send. */
export function camelCase(table: Args): Record<string, unknown> {
  const entries = Object.entries(table).map(([name, value]) => [
    name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>; // names are text
}

/** What one of our methods was sent with, in the words of the recordings; tables without their prototype. */
export function recordedForm({ name, args }: AmqpEvent): { method: string; args: Record<string, unknown> } {
  const rest = without(snakeCase(args), 'ticket');
  return { method: name, args: JSON.parse(JSON.stringify(rest)) as Record<string, unknown> }; // plain tables
}

/** The properties of what we published, likewise. */
export function recordedProperties({ properties = {} }: AmqpEvent): Record<string, unknown> {
  return JSON.parse(JSON.stringify(snakeCase(properties))) as Record<string, unknown>; // plain tables
}
