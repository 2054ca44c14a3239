import type { TailSource } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { tailPlaces } from '#driver-amqp/tail-places.js';

const SOURCE: TailSource = { exchange: 'nova', topic: 'compute', server: undefined, traced: false };

describe('where the requests of a topic pass at RabbitMQ', () => {
  it('are the topic, its servers, its fanout, and all replies', () => {
    const { topic, fanout, destinationOf } = tailPlaces(SOURCE);
    expect([topic, fanout]).to.deep.equal([{ exchange: 'nova', key: 'compute.#' }, 'compute_fanout']);
    const kinds = [
      destinationOf('nova', 'compute'),
      destinationOf('nova', 'compute.host.1'),
      destinationOf('compute_fanout', ''),
      destinationOf('', 'reply_1'),
    ];
    expect(kinds.map((one) => one?.kind)).to.deep.equal(['topic', 'server', 'fanout', 'reply']);
    expect(kinds[1]).to.deep.include({ server: 'host.1' });
  });

  it('are none of another topic or exchange, whatever it begins with', () => {
    const { destinationOf } = tailPlaces(SOURCE);
    for (const [exchange, key] of [
      ['nova', 'computer'],
      ['nova', 'conductor'],
      ['cinder', 'compute'],
      ['conductor_fanout', ''],
    ] as const)
      expect(destinationOf(exchange, key), `${exchange} ${key}`).to.equal(undefined);
  });

  it('are those of one server alone when it is named', () => {
    const { topic, fanout, destinationOf } = tailPlaces({ ...SOURCE, server: 'a' });
    expect([topic.key, fanout]).to.deep.equal(['compute.a', undefined]);
    expect(destinationOf('nova', 'compute.a')?.kind).to.equal('server');
    expect(destinationOf('nova', 'compute')).to.equal(undefined);
    expect(destinationOf('nova', 'compute.ab')).to.equal(undefined);
    expect(destinationOf('compute_fanout', '')).to.equal(undefined);
  });

  it('have the names that the broker has (CORE-06)', () => {
    expect(tailPlaces({ ...SOURCE, topic: 'a.*' }).topic.key).to.match(/^%ebbgate:a__:[0-9a-f]{64}\.#$/);
  });
});
