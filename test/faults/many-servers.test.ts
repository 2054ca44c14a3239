import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { source } from './bed.js';
import { PeerBed } from './peer-bed.js';

const WAIT_MS = 10_000;
/** What shares one connection that consumes. */
const FULL = 1_000;

describe('a transport with very many servers', function () {
  this.timeout(60_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  it('has one more connection for each further thousand, and no more for anything else (AMQP-34, AMQP-32)', async () => {
    const { own, peer } = bed;
    const listenMany = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => own.listen(source(), { credit: 1 }, () => undefined)));
    await listenMany(FULL);
    expect(peer.connections).to.have.length(2);
    await listenMany(3);
    expect(peer.connections).to.have.length(3);
    expect(own.status().connection).to.equal('connected');
    const consumers = peer.received('basic.consume');
    const perConnection = peer.connections.map(
      (connection) =>
        new Set(consumers.filter((each) => each.connection === connection).map(({ channel }) => channel))
          .size,
    );
    expect(perConnection.toSorted((a, b) => a - b)).to.deep.equal([0, 3, FULL]);
    peer.connections.at(-1)?.cut();
    await eventually('the loss', WAIT_MS, () => own.status().connection !== 'connected');
    await eventually('the return', WAIT_MS, () => {
      const { connection, listeners } = own.status();
      return connection === 'connected' && listeners.every(({ subscribed }) => subscribed);
    });
    expect(peer.connections).to.have.length(4); // the others stayed
  });
});
