import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { frameLength, usualFrame } from '#driver-amqp/v091/frame-reader.js';
import { defs, frames, present, theirs } from '../../support/amqplib-frames.js';

const channel = fc.integer({ min: 1, max: 65_535 });
const name = fc.oneof(
  fc.constantFrom('', '__proto__', 'x'.repeat(255), 'amq.ctag-abcdefgh1', 'amq.ctbg-abcdefgh1'),
  fc.string({ maxLength: 60 }),
);
const tag = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const headers = fc.oneof(
  fc.constant({}),
  tag.map((value) => ({ 'ebbgate-deadline': { '!': 'int64', value } })),
  fc.constant({ other: 'text' }),
);

const valid = fc.oneof(
  fc
    .tuple(channel, fc.record({ consumerTag: name, deliveryTag: tag, redelivered: fc.boolean() }), name, name)
    .map(([on, fields, exchange, routingKey]) =>
      defs.encodeMethod(defs.BasicDeliver, on, { ...fields, exchange, routingKey }),
    ),
  fc
    .tuple(channel, fc.record({ deliveryTag: tag, multiple: fc.boolean() }))
    .map(([on, fields]) => defs.encodeMethod(defs.BasicAck, on, fields)),
  fc
    .tuple(channel, tag, headers, fc.option(fc.stringMatching(/^\d{1,9}$/), { nil: undefined }))
    .map(([on, size, table, expiration]) =>
      defs.encodeProperties(defs.BasicProperties, on, size, {
        contentType: 'application/json',
        contentEncoding: 'utf-8',
        headers: table,
        deliveryMode: 2,
        priority: 0,
        expiration,
      }),
    ),
  fc
    .tuple(channel, fc.uint8Array({ maxLength: 50 }))
    .map(([on, body]) => frames.makeBodyFrame(on, Buffer.from(body))),
);

describe('the frames that come with every message', () => {
  it('are read as amqplib reads them (AMQP-30)', () => {
    fc.assert(
      fc.property(valid, fc.uint8Array({ maxLength: 40 }), (frame, rest) => {
        const bytes = Buffer.concat([frame, rest]);
        const mine = usualFrame(bytes, frameLength(bytes));
        if (mine) expect(present(mine)).to.deep.equal(present(theirs(bytes)));
        else expect(frame.includes('other')).to.equal(true);
      }),
      { numRuns: 500 },
    );
  });

  it('are left to amqplib when anything in them is wrong, and nothing is read from beyond them (AMQP-05, AMQP-28)', () => {
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(
        valid,
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.uint8Array({ maxLength: 300 }),
        (frame, changes, rest) => {
          const bytes = Buffer.concat([frame, rest]);
          for (const [at, value] of changes) bytes[at % frame.byteLength] = value;
          const length = frameLength(bytes);
          const mine = length === 0 ? undefined : usualFrame(bytes, length);
          if (mine) expect(present(mine)).to.deep.equal(present(theirs(bytes)));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('may be cut anywhere (AMQP-05)', () => {
    const whole = defs.encodeMethod(defs.BasicDeliver, 1, {
      consumerTag: 'tag',
      deliveryTag: 1,
      redelivered: false,
      exchange: 'exchange',
      routingKey: 'key',
    });
    for (let length = 0; length < whole.byteLength; length += 1)
      expect(frameLength(whole.subarray(0, length)), String(length)).to.equal(0);
    for (let size = 0; size < whole.byteLength - 8; size += 1) {
      const short = Buffer.from(whole);
      short.writeUInt32BE(size, 3);
      short[7 + size] = 0xce;
      expect(usualFrame(short, frameLength(short)), String(size)).to.equal(undefined);
    }
  });
});
