import { SerializationError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isWakeUp, readEntry, readStreams } from '#driver-redis/entry.js';
import { StoreClock } from '#driver-redis/store-clock.js';

const clock = new StoreClock();

function entry(fields: readonly (readonly [string, string])[]): Parameters<typeof readEntry>[0] {
  return { id: '1-0', fields: fields.flat().map((part) => Buffer.from(part)) };
}

describe('an entry of a stream', () => {
  it('is read by the names of its fields, in any order, others left alone', () => {
    const { message, again } = readEntry(
      entry([
        ['other', 'x'],
        ['deadline', String(Date.now() + 5000)],
        ['again', '1'],
        ['body', 'text'],
      ]),
      clock,
    );
    expect(Buffer.from(message.body.encode()).toString()).to.equal('text');
    expect(message.deadline?.remainingMs).to.be.closeTo(5000, 100);
    expect(again).to.equal(true);
  });

  it('without a body is malformed for its reader, not for the driver (AMQP-30)', () => {
    for (const fields of [[], [['body2', 'x']]] as const) {
      const { message } = readEntry(entry(fields), clock);
      expect(() => message.body.encode()).to.throw(SerializationError);
    }
  });

  it('with a deadline that is no number has none', () => {
    expect(readEntry(entry([['deadline', 'soon']]), clock).message.deadline).to.equal(undefined);
  });

  it('may be a wake-up of our own', () => {
    expect([isWakeUp(entry([['wake', '1']])), isWakeUp(entry([['body', 'wake']]))]).to.deep.equal([
      true,
      false,
    ]);
  });

  it('comes with the key of its stream; nothing comes when nothing came in time', () => {
    const reply = [[Buffer.from('key'), [[Buffer.from('1-0'), null]]]];
    expect(readStreams(reply)).to.deep.equal([['key', [{ id: '1-0', fields: [] }]]]);
    expect(readStreams(null)).to.deep.equal([]);
  });
});
