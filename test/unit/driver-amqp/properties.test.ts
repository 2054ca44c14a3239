import { deflateSync } from 'node:zlib';
import { bytesBody, Deadline, SerializationError, type WireMessage } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { publishProperties, readMessage, type ReceivedMessage } from '#driver-amqp/properties.js';

const REQUEST_KIND = { isReply: false, isMandatory: false };
const NONE = { compression: undefined };
const PLAIN = {
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: {},
  deliveryMode: 2,
  priority: 0,
};

function message(parts: Partial<WireMessage> = {}): WireMessage {
  const body = bytesBody(Buffer.from('{"a":1}'));
  return { id: '1'.repeat(32), body, deadline: undefined, expirationMs: undefined, ...parts };
}

function received(properties: object = {}, content: string | Buffer = '{"a":1}'): ReceivedMessage {
  return {
    content: Buffer.from(content),
    properties: { contentType: 'application/json', headers: {}, ...properties },
  };
}

const remaining = (read: WireMessage): number | undefined => read.deadline?.remainingMs;

describe('the properties of a message that is published', () => {
  it("are oslo.messaging's five for a cast, and not one more", () => {
    const { body, properties } = publishProperties(message(), NONE, REQUEST_KIND);
    expect(properties).to.deep.equal(PLAIN);
    expect(body.toString()).to.equal('{"a":1}');
  });

  it('have the expiration of a call, in whole milliseconds, never zero', () => {
    const expiration = (expirationMs: number): unknown =>
      publishProperties(message({ expirationMs }), NONE, REQUEST_KIND).properties.expiration;
    expect([60_000, 750, 1000.9, 0.2].map(expiration)).to.deep.equal(['60000', '750', '1000', '1']);
    expect(publishProperties(message(), NONE, REQUEST_KIND).properties).to.not.have.property('expiration');
  });

  it('have the deadline in a header of ours, in milliseconds since the epoch', () => {
    const { properties } = publishProperties(message({ deadline: Deadline.after(5000) }), NONE, REQUEST_KIND);
    const at = properties.headers['ebbgate-deadline'];
    expect(at).to.be.a('number');
    expect(Number.isSafeInteger(at)).to.be.true;
    expect(Number(at) - Date.now()).to.be.within(4000, 5000);
    expect(Object.keys(properties.headers)).to.deep.equal(['ebbgate-deadline']);
  });

  it('name the compression as kombu does', () => {
    const { body, properties } = publishProperties(message(), { compression: 'gzip' }, REQUEST_KIND);
    expect(properties).to.deep.equal({ ...PLAIN, headers: { compression: 'application/x-gzip' } });
    expect(readMessage({ content: body, properties }).body.encode().toString()).to.equal('{"a":1}');
  });

  it('take the bytes of the body as they are, also from the middle of a buffer', () => {
    const bytes = new Uint8Array(Buffer.from('xx{}yy')).subarray(2, 4);
    expect(
      publishProperties(message({ body: bytesBody(bytes) }), NONE, REQUEST_KIND).body.toString(),
    ).to.equal('{}');
  });
});

describe('a message off the wire', () => {
  it('has the bytes as its body, and no id: that is inside', () => {
    const read = readMessage(received());
    expect(Buffer.from(read.body.encode()).toString()).to.equal('{"a":1}');
    expect(read).to.include({ id: undefined, deadline: undefined, expirationMs: undefined });
  });

  it('must be application/json exactly, as for a Python peer (AMQP-30)', () => {
    for (const contentType of [
      undefined,
      'text/plain',
      'application/json; charset=utf-8',
      'Application/JSON',
      7,
    ]) {
      expect(() => readMessage(received({ contentType })))
        .to.throw(SerializationError)
        .with.property('message')
        .that.includes('application/json')
        .and.not.includes('text/plain');
    }
  });

  it('needs no encoding, headers, priority or delivery mode', () => {
    const { body } = readMessage({
      content: Buffer.from('1'),
      properties: { contentType: 'application/json' },
    });
    expect(body.size).to.equal(1);
  });

  it('has the deadline of our header', () => {
    const read = readMessage(received({ headers: { 'ebbgate-deadline': Date.now() + 5000 } }));
    expect(remaining(read)).to.be.within(4000, 5001);
    expect(readMessage(received({ headers: { 'ebbgate-deadline': Date.now() - 1 } })).deadline?.expired).to.be
      .true;
  });

  it('has what others say in the expiration, counted from receipt, as its deadline', () => {
    const read = readMessage(received({ expiration: '750' }));
    expect(read.expirationMs).to.equal(750);
    expect(remaining(read)).to.be.within(500, 750);
  });

  it('has the earlier of both: the clock of the sender may be wrong', () => {
    const late = { headers: { 'ebbgate-deadline': Date.now() + 3_600_000 }, expiration: '750' };
    expect(remaining(readMessage(received(late)))).to.be.at.most(750);
    const soon = { headers: { 'ebbgate-deadline': Date.now() + 100 }, expiration: '60000' };
    expect(remaining(readMessage(received(soon)))).to.be.at.most(101);
  });

  it('takes a header or expiration that makes no sense as absent (AMQP-30)', () => {
    for (const value of ['soon', 1.5, NaN, -1, 0, {}, 2 ** 60, 10n, true]) {
      expect(readMessage(received({ headers: { 'ebbgate-deadline': value } })).deadline).to.equal(undefined);
    }
    for (const expiration of ['', '-1', '1.5', 'x', '9'.repeat(16), 5]) {
      expect(readMessage(received({ expiration })).expirationMs).to.equal(undefined);
    }
  });

  it('takes headers from the table alone, never from a prototype (SEC-06)', () => {
    const headers = Object.create({ compression: 'application/x-bz2', 'ebbgate-deadline': 1 }) as object;
    expect(readMessage(received({ headers })).deadline).to.equal(undefined);
    for (const odd of [null, 'x', 7]) expect(readMessage(received({ headers: odd })).body.size).to.equal(7);
  });

  it('is unfolded, or refused when it cannot be (AMQP-30)', () => {
    const headers = { compression: 'application/x-gzip' };
    const read = readMessage(received({ headers }, deflateSync('{"b":2}')));
    expect(Buffer.from(read.body.encode()).toString()).to.equal('{"b":2}');
    expect(() => readMessage(received({ headers }))).to.throw(SerializationError);
  });
});
