import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type FastProperties, publishFrame, writeAck, writeMessage } from '#driver-amqp/v091/frame-writer.js';
import { COPY_UP_TO, TurnWriter } from '#driver-amqp/v091/turn-writer.js';
import { turn } from '../../support/deferred.js';

/** amqplib's own encoders. */
interface Definitions {
  readonly BasicPublish: number;
  readonly BasicAck: number;
  readonly BasicProperties: number;
  encodeMethod(id: number, channel: number, fields: object): Buffer;
  encodeProperties(id: number, channel: number, size: number, fields: object): Buffer;
}

const require = createRequire(import.meta.url);
const defs = require(join(dirname(require.resolve('amqplib')), 'lib', 'defs.js')) as Definitions; // as above

/** A socket that keeps what it is given: each element is one system call. */
class Calls extends Duplex {
  readonly calls: Buffer[] = [];
  readonly waiting: (() => void)[] = [];
  readonly #holds: boolean;

  constructor(holds = false) {
    super({ highWaterMark: 16 * 1024 });
    this.#holds = holds;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.calls);
  }

  override _read(): void {
    // nothing ever comes
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #take(chunks: readonly Buffer[], done: () => void): void {
    this.calls.push(Buffer.concat(chunks)); // a copy, as of now
    if (this.#holds) this.waiting.push(done);
    else done();
  }
}

const FRAME_MAX = 131_072;

const properties = fc.record({
  contentType: fc.constantFrom('application/json', 'x'),
  contentEncoding: fc.constant('utf-8'),
  headers: fc.dictionary(
    fc.stringMatching(/^[a-z-]{1,20}$/),
    fc.oneof(fc.stringMatching(/^[ -~]{0,40}$/), fc.integer({ min: 2 ** 33, max: Number.MAX_SAFE_INTEGER })),
  ),
  deliveryMode: fc.constantFrom(1, 2),
  priority: fc.constant(0),
  expiration: fc.option(fc.stringMatching(/^\d{1,15}$/), { nil: undefined }),
});

/** amqplib writes what it knows of and skips what is undefined. */
function expected(channel: number, fields: object, list: object, body: Buffer, frameMax: number): Buffer {
  const frames = [
    defs.encodeMethod(defs.BasicPublish, channel, { ticket: 0, immediate: false, ...fields }),
    defs.encodeProperties(defs.BasicProperties, channel, body.byteLength, list),
  ];
  for (let from = 0; from < body.byteLength; from += frameMax - 8) {
    const part = body.subarray(from, from + frameMax - 8);
    const head = Buffer.alloc(7);
    head[0] = 3;
    head.writeUInt16BE(channel, 1);
    head.writeUInt32BE(part.byteLength, 3);
    frames.push(head, part, Buffer.of(0xce));
  }
  return Buffer.concat(frames);
}

describe('the frames of a message', () => {
  it("are amqplib's own, byte for byte, whatever the message", async () => {
    const message = fc.record({
      channel: fc.integer({ min: 1, max: 65_535 }),
      exchange: fc.string({ maxLength: 60 }),
      routingKey: fc.string({ maxLength: 60 }),
      mandatory: fc.boolean(),
      list: properties,
      size: fc.constantFrom(0, 1, 500, 4087, 4088, 4089, COPY_UP_TO, COPY_UP_TO + 1, 20_000, 140_000),
      frameMax: fc.constantFrom(4096, FRAME_MAX),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 4 }), async (messages) => {
        const socket = new Calls();
        const writer = new TurnWriter(socket);
        const all: Buffer[] = [];
        for (const { channel, exchange, routingKey, mandatory, list, size, frameMax } of messages) {
          const body = Buffer.alloc(size, 'body');
          const { expiration, ...rest } = list;
          const given: FastProperties = expiration === undefined ? rest : { ...rest, expiration };
          const publish = publishFrame(channel, exchange, routingKey, mandatory);
          writeMessage(writer, { channel, frameMax }, publish, given, body);
          all.push(expected(channel, { exchange, routingKey, mandatory }, list, body, frameMax));
        }
        await turn();
        expect(socket.bytes.equals(Buffer.concat(all))).to.equal(true);
      }),
      { numRuns: 200 },
    );
  });

  it('of constant properties are remembered, and of others are not', async () => {
    const socket = new Calls();
    const writer = new TurnWriter(socket);
    const list = { contentType: 'a', contentEncoding: 'b', headers: {}, deliveryMode: 1, priority: 0 };
    const frozen = Object.freeze({ ...list });
    const publish = publishFrame(1, '', 'q', true);
    const body = Buffer.from('x');
    const send = (given: FastProperties): void => {
      writeMessage(writer, { channel: 1, frameMax: FRAME_MAX }, publish, given, body);
    };
    for (const given of [frozen, frozen, list]) send(given);
    list.deliveryMode = 2;
    send(list);
    await turn();
    const one = (deliveryMode: number): Buffer =>
      expected(
        1,
        { exchange: '', routingKey: 'q', mandatory: true },
        { ...list, deliveryMode },
        body,
        FRAME_MAX,
      );
    expect(socket.bytes.equals(Buffer.concat([one(1), one(1), one(1), one(2)]))).to.equal(true);
  });

  it('of an acknowledgement are, too', async () => {
    for (const deliveryTag of [1, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER]) {
      for (const multiple of [true, false]) {
        const socket = new Calls();
        writeAck(new TurnWriter(socket), 7, deliveryTag, multiple);
        await turn();
        const theirs = defs.encodeMethod(defs.BasicAck, 7, { deliveryTag, multiple });
        expect(socket.bytes.equals(theirs), String(deliveryTag)).to.equal(true);
      }
    }
  });
});

describe('what is written in one turn', () => {
  it('leaves in one system call, in order, when the turn is over', async () => {
    const socket = new Calls();
    const writer = new TurnWriter(socket);
    for (let n = 0; n < 100; n += 1) socket.write(Buffer.from(`${String(n)},`));
    writer.write(Buffer.from('end'));
    expect(socket.calls).to.deep.equal([]);
    expect(writer.waiting).to.equal(socket.writableLength + 293);
    await turn();
    expect(socket.calls).to.have.length(1);
    expect(socket.bytes.toString()).to.match(/^0,1,2,.*,98,99,end$/);
    expect(writer.waiting).to.equal(0);
  });

  it('is not changed by what is written later, while the socket still holds it', async () => {
    const socket = new Calls(true);
    const writer = new TurnWriter(socket);
    const texts: string[] = [];
    for (let n = 0; n < 300; n += 1) {
      const text = `${String(n)} `.repeat(200);
      texts.push(text);
      writer.write(Buffer.from(text));
      if (n % 7 === 0) await turn();
    }
    for (let done = socket.waiting.shift(); done; done = socket.waiting.shift()) {
      done();
      await turn();
    }
    expect(socket.bytes.toString()).to.equal(texts.join(''));
  });

  it('keeps its order around long bytes, callbacks and the end', async () => {
    const socket = new Calls();
    const writer = new TurnWriter(socket);
    const long = Buffer.alloc(COPY_UP_TO + 1, 'l');
    writer.write(Buffer.from('a'));
    writer.write(long);
    writer.write(Buffer.from('b'));
    const called = new Promise<void>((resolve) => {
      socket.write(Buffer.from('c'), () => {
        resolve();
      });
    });
    writer.write(Buffer.from('d'));
    socket.end();
    await called;
    await turn();
    expect(socket.bytes.toString()).to.equal(`a${long.toString()}bcd`);
    expect(socket.writableFinished).to.equal(true);
  });

  it('tells that there is no room as the socket itself would, and a drain follows', async () => {
    const socket = new Calls(true);
    new TurnWriter(socket);
    const drained = new Promise((resolve) => socket.once('drain', resolve));
    expect(socket.write(Buffer.alloc(4000))).to.equal(true);
    const rooms = Array.from({ length: 4 }, () => socket.write(Buffer.alloc(4000)));
    expect(rooms).to.deep.equal([true, true, true, false]);
    await turn();
    for (let done = socket.waiting.shift(); done; done = socket.waiting.shift()) done();
    await drained;
    expect(socket.bytes.byteLength).to.equal(20_000);
  });
});
