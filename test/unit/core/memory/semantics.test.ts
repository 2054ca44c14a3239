import { bytesBody, copyPlain, encodeJson, type MessageBody, toPlain, type PlainValue } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../../support/deferred.js';
import { FANOUT, listenTo, MemoryBed, send } from '../support/memory-bed.js';
import { SOURCE, wireMessage } from '../support/scripted-driver.js';

/** A body in the form that stays in the process, as rpc and notifications make them. */
function localBody(value: PlainValue): MessageBody {
  return {
    local: value,
    size: 10,
    encode: () => new TextEncoder().encode(JSON.stringify(value)),
    fork: () => localBody(copyPlain(value)),
  };
}

describe('messages on the in-memory driver', () => {
  it('reach each receiver as objects of its own (CORE-06)', async () => {
    const transport = new MemoryBed().transport();
    const sent = { list: [1, { deep: true }] };
    const hosts = await Promise.all(
      ['host-1', 'host-2', 'host-3'].map((server) => listenTo(transport, 10, { ...SOURCE, server })),
    );
    await send(transport, FANOUT, { ...wireMessage(), body: localBody(copyPlain(sent)) });
    await turn();
    const received = hosts.map(({ deliveries }) => deliveries[0]?.message.body.local as typeof sent); // as sent above
    for (const each of received) expect(each).to.deep.equal(sent);
    const parts = [sent, ...received].flatMap((each) => [each, each.list, each.list[1]]);
    expect(new Set(parts).size).to.equal(parts.length);
    await transport.close();
  });

  it('are bytes that nobody changes when they are sent as bytes (CORE-06)', async () => {
    const transport = new MemoryBed().transport();
    const { deliveries } = await listenTo(transport);
    const bytes = new TextEncoder().encode('{"a":1}');
    await send(transport, FANOUT, { ...wireMessage(), body: bytesBody(bytes) });
    await turn();
    expect(deliveries[0]?.message.body.encode()).to.equal(bytes);
    await transport.close();
  });

  const refused: [string, () => unknown][] = [
    ['a function', () => ({ run: () => {} })],
    ['a symbol', () => [Symbol('s')]],
    ['not a number', () => ({ load: Number.NaN })],
    [
      'a circle',
      () => {
        const circle: unknown[] = [];
        circle.push(circle);
        return circle;
      },
    ],
  ];
  for (const [name, make] of refused) {
    it(`are refused by the same error in either form when they hold ${name} (CORE-06)`, () => {
      for (const encode of [encodeJson, toPlain]) {
        expect(() => encode(make()))
          .to.throw()
          .with.property('code', 'ERR_SERIALIZATION');
      }
    });
  }
});
