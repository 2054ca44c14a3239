import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { brokerName } from '#driver-amqp/broker-names.js';

const bytes = (text: string): number => Buffer.byteLength(text);

describe('the name that the broker gets', () => {
  it('is the very name that oslo.messaging uses, wherever RabbitMQ can hold it (CORE-06)', () => {
    const plain = [
      'compute',
      'compute.host-1.example.org',
      'compute_fanout_host1:proc1:1',
      '.a..b.',
      '/a//b',
      '  a b\t',
      'a\u0000b',
      '%2E%zz%',
      'größe-仕事',
      '🌊',
      '__proto__',
      'x*y.#z',
      'amqp.x',
      'amq.topic',
      'a'.repeat(255),
      'é'.repeat(127),
    ];
    expect(plain.map(brokerName)).to.deep.equal(plain);
  });

  it('is another for what RabbitMQ would cut, take for a pattern, or refuse (CORE-06)', () => {
    const odd = [
      '',
      'a*.*',
      '#',
      'a.#.b',
      '*.b',
      'a\nb',
      'a\rb',
      '\ud800',
      'amq.direct',
      'a'.repeat(256),
      'é'.repeat(128),
    ];
    for (const name of odd) {
      expect(brokerName(name), name).to.match(/^%ebbgate:[\w-]{0,100}:[0-9a-f]{64}$/);
    }
    expect(new Set(odd.map(brokerName))).to.have.lengthOf(odd.length);
    expect(brokerName('a.#.b')).to.equal(
      '%ebbgate:a___b:009794d8a6d95668d44da1d8779c589332e8cc1829b5cec494b063ede96667de',
    );
  });

  it('fits, holds no wildcard, and is never that of another name (CORE-06)', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: fc.constantFrom(...Array.from('a.*#\r\n'), 'amq.', '\ud800'), maxLength: 8 }),
    );
    fc.assert(
      fc.property(name, name, (one, other) => {
        const made = brokerName(one);
        expect(bytes(made)).to.be.within(1, 255);
        expect(made.split('.')).to.not.include('*').and.not.include('#');
        expect(made === brokerName(other)).to.equal(one === other);
        expect(brokerName(made) === made).to.equal(made === one);
      }),
    );
  });
});
