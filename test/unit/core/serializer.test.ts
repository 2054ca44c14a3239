import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SerializationError } from '#core/errors.js';
import { JsonPayloadSerializer, noOpSerializer } from '#core/serializer.js';

class Node {
  readonly #hidden = 1;
  readonly inner: unknown;
  readonly method = (): number => this.#hidden;

  constructor(inner?: unknown) {
    this.inner = inner;
  }

  other(): number {
    return 2;
  }
}

describe('noOpSerializer', () => {
  it('gives everything as it is', () => {
    const thing = new Node();
    const context = { user: 'u' };
    expect(noOpSerializer.serializeEntity(context, thing)).to.equal(thing);
    expect(noOpSerializer.deserializeEntity(context, thing)).to.equal(thing);
    expect(noOpSerializer.serializeContext(context)).to.equal(context);
    expect(noOpSerializer.deserializeContext(context)).to.equal(context);
  });
});

describe('JsonPayloadSerializer', () => {
  const serializer = new JsonPayloadSerializer();
  const send = (value: unknown): unknown => serializer.serializeEntity({}, value);

  it('makes an instance an object of its attributes', () => {
    deepStrictEqual(send({ list: [new Node(new Date(0))] }), {
      list: [{ inner: '1970-01-01T00:00:00.000Z' }],
    });
    deepStrictEqual(send(new Node()), {});
  });

  it('follows three instances within each other, and any number beside each other', () => {
    deepStrictEqual(send(new Node(new Node([new Node(1), new Node(2)]))), {
      inner: { inner: [{ inner: 1 }, { inner: 2 }] },
    });
    deepStrictEqual(
      send([1, 2, 3, 4, 5].map((one) => new Node(one))),
      [1, 2, 3, 4, 5].map((inner) => ({ inner })),
    );
    expect(() => send({ a: new Node(new Node({ b: new Node(new Node()) })) }))
      .to.throw(SerializationError, /instance of Node within 3 others/)
      .with.property('path', 'a.inner.inner.b.inner');
  });

  it('leaves toJSON(), and whatever can be sent, to the rules for all', () => {
    deepStrictEqual(send([new URL('http://h/'), Buffer.from('a'), new Map([['a', new Node(1)]])]), [
      'http://h/',
      'YQ==',
      { a: { inner: 1 } },
    ]);
  });

  it('refuses what has no attributes to send', () => {
    for (const value of [Promise.resolve(), /x/, new WeakMap(), () => 1, NaN, Float64Array.of(1)]) {
      expect(() => send([value]))
        .to.throw(SerializationError)
        .with.property('path', '[0]');
    }
  });

  it('refuses instances that hold each other', () => {
    const first = { name: 'first', second: undefined as unknown };
    first.second = new Node(first);
    expect(() => send(first)).to.throw(SerializationError, /refers back to/);
  });

  it('keeps __proto__ as an ordinary member (SEC-06)', () => {
    const value = Object.assign(new Node(1), {});
    Object.defineProperty(value, '__proto__', { value: { polluted: 1 }, enumerable: true });
    const sent = send(value) as object;
    expect(Object.getPrototypeOf(sent)).to.equal(Object.prototype);
    expect('polluted' in sent).to.equal(false);
  });

  it('gives back contexts and what it receives as they are', () => {
    const thing = { a: 1 };
    expect(serializer.deserializeEntity({}, thing)).to.equal(thing);
    expect(serializer.serializeContext(thing)).to.equal(thing);
    expect(serializer.deserializeContext(thing)).to.equal(thing);
  });
});
