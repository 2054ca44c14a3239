import { type Amqp10Options, createAmqp10Driver } from '@ebbgate/driver-amqp';
import { Amqp10Peer, type PeerOptions } from '../support/rigs/amqp10-peer.js';
import { DriverBed, FAST } from './bed.js';

/** The AMQP 1.0 driver, and the peer that a test has asked for. */
export class Amqp10Bed extends DriverBed<Amqp10Options> {
  constructor() {
    super((options) =>
      createAmqp10Driver({
        ...(FAST as Amqp10Options), // three options that both drivers have
        ...options,
      }),
    );
  }

  async peer(options: PeerOptions = { plays: 'plain' }): Promise<Amqp10Peer> {
    const peer = await Amqp10Peer.start(options);
    this.onEnd(() => peer.close());
    return peer;
  }
}
