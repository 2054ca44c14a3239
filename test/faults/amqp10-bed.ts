import { format } from 'node:util';
import { type Amqp10Options, createAmqp10Driver } from '@ebbgate/driver-amqp';
import { expect } from 'chai';
import { Amqp10Peer, type PeerOptions } from '../support/rigs/amqp10-peer.js';
import { DriverBed, FAST } from './bed.js';

/** The AMQP 1.0 driver, and the peer that a test has asked for. Nothing may be written to the console, as rhea would. */
export class Amqp10Bed extends DriverBed<Amqp10Options> {
  readonly #console = { error: console.error, warn: console.warn };
  readonly #written: string[] = [];

  constructor() {
    super((options) =>
      createAmqp10Driver({
        ...(FAST as Amqp10Options), // three options that both drivers have
        ...options,
      }),
    );
    const write = (...parts: readonly unknown[]): void => void this.#written.push(format(...parts));
    Object.assign(console, { error: write, warn: write });
  }

  async peer(options: PeerOptions = { plays: 'plain' }): Promise<Amqp10Peer> {
    const peer = await Amqp10Peer.start(options);
    this.onEnd(() => peer.close());
    return peer;
  }

  override async end(): Promise<void> {
    try {
      await super.end();
    } finally {
      Object.assign(console, this.#console);
    }
    expect(this.#written).to.deep.equal([]);
  }
}
