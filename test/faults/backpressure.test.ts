import { bytesBody, type Transport, type WireMessage } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { type AmqpEvent, AmqpPeer, type AmqpPeerConnection } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Bed, failure, send, source, toTopic } from './bed.js';

const WAIT_MS = 5_000;
const COUNT = 1_000;

function numbered(number: number, size: number): WireMessage {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt32BE(number);
  return { id: undefined, body: bytesBody(bytes), deadline: undefined, expirationMs: undefined };
}

describe('many sends that wait for the same thing', function () {
  this.timeout(30_000);
  let peer: AmqpPeer;
  let bed: Bed;
  let transport: Transport;
  let publishing: AmqpPeerConnection;
  let warnings: Error[];
  const where = source();
  const onWarning = (warning: Error): void => void warnings.push(warning);

  beforeEach(async () => {
    warnings = [];
    process.on('warning', onWarning);
    peer = await AmqpPeer.start();
    bed = new Bed();
    transport = await bed.connected(peer.url());
    await send(transport, toTopic(where), 'first');
    ({ connection: publishing } = peer.received('basic.publish')[0] as AmqpEvent); // it was confirmed
  });

  afterEach(async () => {
    process.off('warning', onWarning);
    await bed.end();
    await peer.close();
  });

  const sendAll = (size: number, timeoutMs: number): Promise<void>[] =>
    Array.from({ length: COUNT }, (_none, number) =>
      send(transport, toTopic(where), numbered(number, size), { timeoutMs }),
    );

  /** The numbers of all messages after the first, in the order of their arrival. */
  const arrived = (): (number | undefined)[] =>
    peer
      .received('basic.publish')
      .slice(1)
      .map(({ body }) => body?.readUInt32BE());

  async function block(): Promise<void> {
    publishing.send(0, 'connection.blocked', { reason: 'low on memory' });
    await eventually('the alarm', WAIT_MS, () => transport.status().connection === 'blocked');
  }

  it('go on in order, and without a warning of Node.js, when a socket that was stuck takes bytes again (AMQP-01)', async () => {
    publishing.pauseReading();
    const sends = sendAll(32 * 1024, 20_000);
    await failure(send(transport, toTopic(where), 'behind them', { timeoutMs: 50 }));
    publishing.resumeReading();
    await Promise.all(sends);
    expect(arrived()).to.deep.equal(Array.from({ length: COUNT }, (_none, number) => number));
    expect(warnings).to.deep.equal([]);
  });

  it('are not all written at once when the broker takes messages again (AMQP-01, AMQP-31)', async () => {
    await block();
    const sends = sendAll(64 * 1024, 1_000);
    const outcomes = Promise.all(sends.map(failure));
    publishing.pauseReading();
    publishing.send(0, 'connection.unblocked');
    const unsent = (await outcomes).filter(({ outcome }) => outcome === 'not-sent');
    expect(unsent.length).to.be.above(COUNT / 2); // the system takes some megabytes, and we keep four
    publishing.resumeReading();
    await send(transport, toTopic(where), 'after all', { timeoutMs: 10_000 });
  });

  it('end with the transport: what is not written is not sent (AMQP-31, AMQP-41)', async () => {
    publishing.pauseReading();
    const sends = sendAll(64 * 1024, 20_000).map(failure);
    const closing = transport.close();
    publishing.resumeReading();
    await closing;
    const ended = await Promise.all(sends);
    expect(new Set(ended.map(({ code }) => code))).to.deep.equal(new Set(['ERR_TRANSPORT_CLOSED']));
    const unsent = ended.filter(({ outcome }) => outcome === 'not-sent').length;
    expect(unsent).to.be.above(COUNT / 2);
    expect(arrived().length).to.be.at.most(COUNT - unsent);
    expect(transport.pendingSends).to.equal(0);
  });
});
