import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import rhea from 'rhea';
import type { ServerSource } from '@ebbgate/core';
import type { Amqp10Peer } from '../support/rigs/amqp10-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { Amqp10Bed } from './amqp10-bed.js';
import { failure, send, source, toServer, toTopic } from './bed.js';

const WAIT_MS = 10_000;
const PLAIN = 'address_form=plain';
const JSON_TYPE = { content_type: 'application/json' };
const { message: amqp, types } = rhea;

const bytes = (...parts: readonly (number | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : part)));
const count = (value: number): Buffer => {
  const four = Buffer.alloc(4);
  four.writeUInt32BE(value);
  return four;
};
const data = (text: string): object => amqp.data_section(Buffer.from(text)) as object; // rhea says any
const nodeOf = ({ exchange, topic }: ServerSource): string => `queue/${exchange}/${topic}`;

/** A list in a list in a list, so many times, in the right lengths. */
function nested(depth: number): Buffer {
  const parts: Buffer[] = [];
  for (let left = depth; left > 0; left -= 1)
    parts.push(bytes(0xd0, count(4 + 9 * (left - 1) + 1), count(1)));
  return Buffer.concat([...parts, Buffer.of(0x40)]);
}

/** Nothing that a driver can read; some of it nothing that a decoder should try to. */
const UNREADABLE: readonly (readonly [string, Buffer])[] = [
  ['nothing at all', Buffer.alloc(0)],
  ['a text', Buffer.from('hello')],
  ['a value without its section', bytes(0xa1, 3, Buffer.from('abc'))],
  ['a section that ends too soon', bytes(0, 0x53, 0x75, 0xb0, count(100), Buffer.from('short'))],
  ['descriptions of descriptions', Buffer.alloc(100_000)],
  ['a body of lists in lists', bytes(0, 0x53, 0x77, nested(50_000))],
  ['properties that are no list', bytes(0, 0x53, 0x73, 0x54, 1, 0, 0x53, 0x75, 0xa0, 2, Buffer.from('{}'))],
  ['an array of four thousand million nulls', bytes(0, 0x53, 0x77, 0xf0, count(5), count(0xffff_ffff), 0x40)],
  [
    'such an array among its properties',
    bytes(0, 0x53, 0x74, 0xd1, count(17), count(2), 0xa1, 1, 0x61, 0xf0, count(5), count(0xffff_ffff), 0x40),
  ],
  ['a type that there is not', bytes(0, 0x53, 0x77, 0x3f)],
  ['no body', amqp.encode({ ...JSON_TYPE, body: undefined })],
  ['a sequence', amqp.encode({ ...JSON_TYPE, body: amqp.sequence_section([1, 2, 3]) })],
  ['a map', amqp.encode({ ...JSON_TYPE, body: { deep: { map: [1, { of: 'things' }] } } })],
  ['no properties', amqp.encode({ body: data('"without"') })],
];

/** What other clients and brokers may write, and a driver must read; its body is the title in JSON. */
const READABLE: readonly (readonly [string, (text: string) => Buffer])[] = [
  [
    'data sections in pieces',
    (text) => {
      const pieces = text.split(' ').map((word, at) => Buffer.from(at === 0 ? word : ` ${word}`));
      return amqp.encode({ ...JSON_TYPE, body: amqp.data_sections(pieces) });
    },
  ],
  ['a value that is a text', (text) => amqp.encode({ ...JSON_TYPE, body: text })],
  ['a value that is bytes', (text) => amqp.encode({ ...JSON_TYPE, body: Buffer.from(text) })],
  [
    'a correlation id that is a number',
    (text) => amqp.encode({ ...JSON_TYPE, correlation_id: 7, body: data(text) }),
  ],
  [
    'a correlation id that is a UUID',
    (text) => amqp.encode({ ...JSON_TYPE, correlation_id: Buffer.alloc(16, 7), body: data(text) }),
  ],
  [
    'a correlation id that is bytes',
    (text) =>
      amqp.encode({
        ...JSON_TYPE,
        correlation_id: types.wrap_binary(Buffer.alloc(300, 7)),
        body: data(text),
      }),
  ],
  [
    'annotations, a footer and a priority out of range',
    (text) =>
      amqp.encode({
        ...JSON_TYPE,
        priority: 255,
        delivery_annotations: { deep: { map: { of: [1, 2, { things: true }] } } },
        message_annotations: { __proto__: 'x', constructor: 'y' },
        footer: { sum: types.wrap_described([1], 'its:own') },
        application_properties: {
          ['__proto__']: 'a',
          constructor: 'b',
          toString: 1,
          'ebbgate-deadline': 'soon',
        },
        body: data(text),
      }),
  ],
  [
    'sections that are named by words',
    (text) =>
      bytes(
        0,
        0xa3,
        20,
        Buffer.from('amqp:properties:list'),
        0xc0,
        25,
        7,
        0x40,
        0x40,
        0x40,
        0x40,
        0x40,
        0x40,
        0xa3,
        16,
        Buffer.from('application/json'),
        0,
        0xa3,
        16,
        Buffer.from('amqp:data:binary'),
        0xb0,
        count(Buffer.byteLength(text)),
        Buffer.from(text),
      ),
  ],
  [
    'a section that nobody knows',
    (text) =>
      bytes(0, 0x53, 0x99, 0xa1, 2, Buffer.from('my'), amqp.encode({ ...JSON_TYPE, body: data(text) })),
  ],
];

describe('AMQP 1.0, with a peer that does its worst', function () {
  this.timeout(30_000);
  let bed: Amqp10Bed;

  beforeEach(() => {
    bed = new Amqp10Bed();
  });

  afterEach(() => bed.end());

  /** A server that answers, and what its transport has told of itself since. */
  async function served(peer: Amqp10Peer, where: ServerSource): Promise<unknown[]> {
    const transport = await bed.connected(peer.url(PLAIN));
    await bed.serve(transport, where, { echo: (_context: unknown, args: object) => args });
    const told: unknown[] = [];
    transport.events.on('connection', (status) => told.push(status));
    transport.events.on('listener', (status) => told.push(status));
    return told;
  }

  it('a message that cannot be read is refused, and costs neither the connection nor a link (AMQP-30, AMQP-46, RPC-12)', async () => {
    const peer = await bed.peer();
    const where = source();
    const told = await served(peer, where);
    const client = bed.client(await bed.connected(peer.url(PLAIN)), where);
    for (const [what, message] of UNREADABLE) {
      peer.store(nodeOf(where), message);
      expect(await client.call({}, 'echo', { after: what })).to.deep.equal({ after: what });
    }
    await eventually('their end', WAIT_MS, () => peer.unsettled === 0);
    expect(peer.rejected).to.equal(UNREADABLE.length);
    expect(peer.depth(nodeOf(where))).to.equal(0);
    expect(told).to.deep.equal([]);
  });

  it('reads what others write: a body in pieces, or as a value; any id, annotations, and sections of their own (AMQP-48, SEC-06)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const heard = await bed.listen(transport, where, true, 20);
    peer.store(nodeOf(where), ...READABLE.map(([what, write]) => write(JSON.stringify(what))));
    await eventually('all of them', WAIT_MS, () => heard.texts.length === READABLE.length);
    expect(heard.texts).to.deep.equal(READABLE.map(([what]) => JSON.stringify(what)));
    expect(heard.deliveries.map(({ message }) => message.deadline)).to.deep.equal(
      READABLE.map(() => undefined),
    );
  });

  it('takes what is sent beyond its credit, and no more than its credit at a time (AMQP-43, AMQP-01)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const heard = await bed.listen(transport, where, false, 2);
    await eventually('the credit', WAIT_MS, () =>
      peer.consumers(where.server).some(({ credit }) => credit === 2),
    );
    const own = `${nodeOf(where)}/${where.server}`; // of this server alone: nothing of it goes back
    const many = Array.from({ length: 7 }, (_none, n) =>
      amqp.encode({ ...JSON_TYPE, body: data(String(n)) }),
    );
    peer.overrun(own, many);
    for (let taken = 0; taken < 7; taken += 1) {
      const delivery = await eventually('the next', WAIT_MS, () => heard.deliveries[taken]);
      expect(heard.deliveries.length - taken).to.be.at.most(2);
      await delivery.accept();
    }
    expect(heard.texts).to.deep.equal(['0', '1', '2', '3', '4', '5', '6']);
    await send(transport, toServer(where), 'as before');
    await eventually('another', WAIT_MS, () => heard.texts.length === 8);
  });

  it('one message that the peer never settles does not stop those after it (AMQP-44, AMQP-45)', async () => {
    const peer = await bed.peer({ plays: 'plain', credit: 2_000 });
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    peer.outcomes.push('hold');
    const held = failure(send(transport, toTopic(where), 'held', { timeoutMs: 200 }));
    expect(await held).to.include({ code: 'ERR_DELIVERY', outcome: 'unknown' });
    // More than there is room for in the ring of rhea, of which the first place was taken for ever.
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        Array.from({ length: 500 }, (_none, n) => send(transport, toTopic(where), String(n))),
      );
    expect(peer.received).to.have.length(2_501);
  });

  it('one message that is held for long does not stop those after it (AMQP-36, AMQP-39)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const heard = await bed.listen(transport, where, false, 100);
    const note = amqp.encode({ ...JSON_TYPE, body: data('x') });
    peer.store(nodeOf(where), ...Array.from({ length: 2_500 }, () => note));
    for (let taken = 1; taken < 2_500; taken += 1)
      await (await eventually('the next', WAIT_MS, () => heard.deliveries[taken])).accept();
    expect(await heard.deliveries[0]?.accept()).to.equal(true);
    await eventually('the last outcome', WAIT_MS, () => peer.unsettled === 0);
    expect(peer.depth(nodeOf(where))).to.equal(0);
  });

  it('each delivery has its own outcome, also when others are settled in the same turn (AMQP-29, AMQP-39)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const heard = await bed.listen(transport, where, false, 6);
    for (const text of ['0', '1', '2', '3', '4', '5']) await send(transport, toTopic(where), text);
    await eventually('all of them', WAIT_MS, () => heard.texts.length === 6);
    await heard.listener.stop();
    const [first, second, third, fourth, fifth, sixth] = heard.deliveries;
    const accepted = [first?.accept()];
    second?.release();
    accepted.push(third?.accept());
    fourth?.reject();
    accepted.push(fifth?.accept());
    sixth?.release();
    for (const each of accepted) expect(await each).to.equal(true);
    await eventually('the outcomes', WAIT_MS, () => peer.unsettled === 0);
    expect(peer.rejected).to.equal(1);
    const again = await bed.listen(transport, where);
    await eventually('what was given back', WAIT_MS, () => again.texts.length === 2);
    expect(again.texts.toSorted()).to.deep.equal(['1', '5']);
    expect(peer.depth(nodeOf(where))).to.equal(0);
  });

  it('refuses links that it has not asked for, and takes nothing by them (AMQP-46)', async () => {
    const peer = await bed.peer();
    const where = source();
    const told = await served(peer, where);
    peer.intrude();
    await eventually('the refusals', WAIT_MS, () => peer.refused.length === 2);
    expect(peer.refused).to.deep.equal(['amqp:not-allowed', 'amqp:not-allowed']);
    expect(told).to.deep.equal([]);
  });

  it('a link that is answered as if both received is given up, and attached again (AMQP-42, AMQP-46)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(PLAIN));
    const where = source();
    const told: string[] = [];
    transport.events.on('error', ({ message }) => told.push(message));
    peer.confusesRoles = true;
    const heard = await bed.listen(transport, where);
    expect(told).to.have.length(1);
    expect(told[0]).to.contain('the wrong way round');
    await send(transport, toTopic(where), 'one');
    await eventually('the message', WAIT_MS, () => heard.texts.length === 1);
  });

  it('logs in with names and passwords in any language (AMQP-18)', async () => {
    const [user, password] = ['Grüße', 'pässwörd 日本 😀'];
    const peer = await bed.peer({
      plays: 'plain',
      admits: (name, word) => name === user && word === password,
    });
    const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    const transport = await bed.connected(peer.url(PLAIN).replace('guest:guest', login));
    expect(transport.status().connection).to.equal('connected');
    const wrong = await failure(bed.transport(peer.url(PLAIN), {}, { sendTimeoutMs: 400 }).connect());
    expect(wrong.code).to.equal('ERR_AUTHENTICATION');
  });
});
