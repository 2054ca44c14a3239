import { SerializationError } from '@ebbgate/core';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { entryOf, readEntry } from '#driver-redis/entry.js';
import { StoreClock } from '#driver-redis/store-clock.js';

const clock = new StoreClock();
const read = (text: string): ReturnType<typeof readEntry> => readEntry(Buffer.from(text), clock);

describe('an entry of a queue', () => {
  it('is a line and the body: the deadline, and whether somebody has given it back', () => {
    const { message, again } = read(`${String(Date.now() + 5000)}!\ntext\nof two lines`);
    expect(Buffer.from(message.body.encode()).toString()).to.equal('text\nof two lines');
    expect(message.deadline?.remainingMs).to.be.closeTo(5000, 100);
    expect(again).to.equal(true);
    expect(read('\nx')).to.deep.include({ again: false });
    expect(read('\nx').message.deadline).to.equal(undefined);
    expect(read('!\nx').again).to.equal(true);
  });

  it('without its line is malformed for its reader, not for the driver (AMQP-30)', () => {
    for (const text of ['', '1', '1!', '!', '{"a":1}', 'soon\n{}', '1!!\n{}', '1 \n{}', '-1\n{}'])
      expect(() => read(text).message.body.encode(), text).to.throw(SerializationError);
  });

  it('is read as it was written, whatever is in it', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.option(fc.nat(), { nil: undefined }), (body, deadline) => {
        const { message, again } = readEntry(
          entryOf(body, deadline === undefined ? '' : String(deadline)),
          clock,
        );
        expect(Buffer.from(message.body.encode()).equals(body)).to.equal(true);
        expect(again).to.equal(false);
        expect(message.deadline === undefined).to.equal(deadline === undefined);
      }),
    );
  });
});
