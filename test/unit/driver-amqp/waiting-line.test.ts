import { Deadline, timers } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SendRoom } from '#driver-amqp/v091/send-room.js';
import type { Outgoing } from '#driver-amqp/v091/unconfirmed.js';
import { WaitingLine } from '#driver-amqp/waiting-line.js';
import { rejectionOf } from '../../support/deferred.js';

const long = (): Deadline => Deadline.after(60_000);
const late = (): Error => new Error('late');
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function outgoing(bytes: number): Outgoing {
  return {
    exchange: undefined,
    queue: undefined,
    routingKey: '',
    body: Buffer.alloc(bytes),
    properties: {},
    deadline: long(),
    retry: undefined,
    repeatable: false,
  };
}

describe('a line of sends that wait', () => {
  it('lets them go in order, as many as fit (AMQP-01)', async () => {
    const line = new WaitingLine();
    const gone: number[] = [];
    const waits = [0, 1, 2, 3].map((number) => line.wait(long(), 10, late).then(() => gone.push(number)));
    line.letGo(11);
    await turnOfTheLoop();
    expect([gone, line.isEmpty]).to.deep.equal([[0, 1], false]);
    line.letGo(Infinity);
    await Promise.all(waits);
    expect([gone, line.isEmpty]).to.deep.equal([[0, 1, 2, 3], true]);
  });

  it('keeps nothing of those whose deadline has come (AMQP-01, AMQP-31)', async () => {
    const line = new WaitingLine();
    const before = timers.size;
    const error = await rejectionOf(line.wait(Deadline.after(1), 10, late));
    expect([error.message, line.isEmpty, timers.size]).to.deep.equal(['late', true, before]);
  });
});

describe('the room in a socket', () => {
  it('stays taken until all have had their turn, and is full again when one of them says so (AMQP-01)', async () => {
    const room = new SendRoom();
    const gone: number[] = [];
    room.onFull();
    const waits = [0, 1, 2].map((number) =>
      room.turn(outgoing(1024 ** 2), late).then(() => {
        gone.push(number);
        if (number === 1) room.onFull();
      }),
    );
    room.onDrain();
    expect(room.isTaken).to.equal(true);
    await turnOfTheLoop();
    await turnOfTheLoop();
    await turnOfTheLoop();
    expect([gone, room.isTaken]).to.deep.equal([[0, 1], true]);
    room.onDrain();
    await Promise.all(waits);
    await turnOfTheLoop();
    expect([gone, room.isTaken]).to.deep.equal([[0, 1, 2], false]);
  });

  it('lets all go when its channel has ended (AMQP-09)', async () => {
    const room = new SendRoom();
    room.onFull();
    const waits = [0, 1, 2].map(() => room.turn(outgoing(1024 ** 2), late));
    room.onEnd();
    await Promise.all(waits);
    expect(room.isTaken).to.equal(false);
  });
});
