import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import rhea from 'rhea';
import { SerializationError } from '@ebbgate/core';
import { readSections } from '#driver-amqp/v10/sections.js';

const { message, types } = rhea;

describe('the sections of an AMQP 1.0 message', () => {
  it('are read as rhea writes them (SEC-06)', () => {
    const header = fc.record({
      durable: fc.boolean(),
      priority: fc.integer({ min: 0, max: 255 }),
      ttl: fc.option(fc.integer({ min: 0, max: 0xffff_ffff }), { nil: undefined }),
      first_acquirer: fc.option(fc.boolean(), { nil: undefined }),
      delivery_count: fc.option(fc.integer({ min: 0, max: 0xffff_ffff }), { nil: undefined }),
    });
    const number = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
    const value = fc.oneof(fc.string({ maxLength: 300, unit: 'grapheme' }), fc.boolean(), number);
    const properties = fc.dictionary(fc.string({ unit: 'grapheme' }), value, { noNullPrototype: true });
    const parts = fc.array(fc.uint8Array({ maxLength: 400 }), { minLength: 2 });
    fc.assert(
      fc.property(header, properties, parts, (given, application, body) => {
        const wrapped = Object.entries(application).map(([name, each]) => [
          name,
          typeof each === 'number' ? (types.wrap_long(each) as unknown) : each,
        ]);
        const bytes = message.encode({
          ...given,
          content_type: 'application/json',
          message_annotations: { of: 'others' },
          application_properties: Object.fromEntries(wrapped) as object,
          body: message.data_sections(body) as object,
        });
        const read = readSections(bytes);
        expect(read.ttl).to.equal(given.ttl);
        expect(read.firstAcquirer).to.equal(given.first_acquirer);
        expect(read.deliveryCount).to.equal(given.delivery_count);
        expect(read.contentType).to.equal('application/json');
        expect(read.applicationProperties).to.deep.equal(application);
        expect(read.body.equals(Buffer.concat(body))).to.equal(true);
      }),
    );
  });

  it('are none in bytes that are no message: told as that, and as nothing else (AMQP-30)', () => {
    const told = new Set<string>();
    const encoded = message.encode({
      ttl: 1,
      content_type: 'x',
      application_properties: { a: 1 },
      body: 'text',
    });
    const spoilt = fc
      .tuple(fc.nat(encoded.length - 1), fc.integer({ min: 0, max: 255 }))
      .map(([at, byte]) => Uint8Array.from(encoded, (each, index) => (index === at ? byte : each)));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), spoilt), (bytes) => {
        try {
          told.add(typeof readSections(Buffer.from(bytes)));
        } catch (error) {
          expect(error).to.be.instanceOf(SerializationError);
          told.add('refused');
        }
      }),
      { numRuns: 2_000 },
    );
    expect([...told].toSorted()).to.deep.equal(['object', 'refused']);
  });
});
