import { inspect } from 'node:util';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { AmqpPeer } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { Bed, failure, send, source, toTopic } from './bed.js';

const WAIT_MS = 5_000;

describe('time that runs out without a connection', function () {
  this.timeout(15_000);
  let bed: Bed;
  const peers: AmqpPeer[] = [];
  const where = source();

  beforeEach(() => {
    bed = new Bed();
  });

  afterEach(async () => {
    await bed.end();
    for (const peer of peers.splice(0)) await peer.close();
  });

  async function start(): Promise<AmqpPeer> {
    const peer = await AmqpPeer.start();
    peers.push(peer);
    return peer;
  }

  it('says the last reason when time runs out, in the text and as the cause, and no password (AMQP-20, SEC-04)', async () => {
    const secret = 'pw-hunter2';
    const mute = await start();
    mute.script('header', () => {});
    const forced = await start();
    forced.script('connection.open', ({ connection }) => {
      connection.closeConnection(320, 'CONNECTION_FORCED - maintenance');
    });
    const at = (port: number): string => `u:${secret}@127.0.0.1:${String(port)}`;
    for (const [hosts, sign] of [
      [[at(await freePort())], 'ECONNREFUSED'],
      [[`u:${secret}@no-such-host.invalid:5672`], 'no-such-host.invalid'],
      [[at(mute.port)], 'connect_timeout'],
      [[at(await freePort()), at(forced.port)], 'CONNECTION_FORCED - maintenance'],
    ] as const) {
      const options = { host_order: 'given', connect_timeout: 0.1, rabbit_interval_max: 30 } as const;
      const transport = bed.transport(`rabbit://${hosts.join(',')}/`, options, { sendTimeoutMs: 400 });
      const limit = { timeoutMs: 300 };
      const outcomes = await Promise.all([
        failure(transport.connect()),
        failure(transport.listen(where, { credit: 1 }, () => {})),
        failure(transport.openReplyQueue(() => {})),
        failure(send(transport, toTopic(where), 'x', limit)),
        failure(bed.client(transport, where, limit).cast({}, 'x')),
      ]);
      for (const error of outcomes) {
        expect(error.code).to.equal('ERR_DELIVERY');
        expect(error.message).to.contain(sign);
        expect(inspect(error.cause)).to.contain(sign);
        expect(inspect(error, { depth: 20, showHidden: true })).not.to.contain(secret);
      }
      expect(transport.status().cause?.message).to.contain(sign);
      await transport.connect().catch(() => undefined); // a later one knows it, too
    }
  });

  it('says why it was lost when it does not come back in time (AMQP-20, AMQP-47)', async () => {
    const peer = await start();
    const transport = await bed.connected(peer.url(), { rabbit_interval_max: 30 }, { sendTimeoutMs: 300 });
    peer.script('header', () => {});
    for (const connection of peer.connections)
      connection.closeConnection(320, 'CONNECTION_FORCED - maintenance');
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    const outcomes = await Promise.all([
      failure(transport.listen(where, { credit: 1 }, () => {})),
      failure(send(transport, toTopic(where), 'x', { timeoutMs: 200 })),
    ]);
    for (const { message } of outcomes) expect(message).to.contain('CONNECTION_FORCED - maintenance');
  });
});
