import { expect } from 'chai';
import { describe, it } from 'mocha';
import { captureNames, readCapture } from './replay/capture.js';
import {
  comparablePublish,
  distinct,
  isEnveloped,
  ListenerReplay,
  NOTIFY_CASES,
  ourDeclarations,
  ourPublish,
  recordedDeclarations,
  recordedListeners,
  recordedNotifications,
  recordedSeen,
  sendAgain,
} from './replay/notifications.js';
import { OurSide } from './replay/our-side.js';

/** The keys by which a listener of a case has bound its queues. */
function keysOf(declared: readonly object[]): string[] {
  return declared.flatMap((one) => {
    const { method, args } = one as { method: string; args: { routing_key?: string } }; // as recorded
    return method === 'queue.bind' ? [String(args.routing_key)] : [];
  });
}

describe('our notifier in the place of the recorded one (W34)', function () {
  this.timeout(20_000);

  it('has a row for each recorded case of notifications, and a case for each row', () => {
    const names = captureNames().filter((name) => name.includes('notify_'));
    expect(Object.keys(NOTIFY_CASES).toSorted()).to.deep.equal(names.toSorted());
  });

  for (const name of Object.keys(NOTIFY_CASES)) {
    const capture = readCapture(name);
    const sends = recordedNotifications(capture);

    it(`${name}: declares and publishes the same, ${String(sends.length)} times (AMQP-24)`, async () => {
      expect(sends).to.not.have.lengthOf(0);
      const side = await OurSide.start();
      try {
        for (const sent of sends) {
          const published = await sendAgain(side, sent);
          const { args, properties, body } = sent.event;
          expect(ourPublish(published)).to.deep.equal(comparablePublish(args, properties, body));
          expect(isEnveloped(published.body ?? Buffer.alloc(0))).to.equal(!sent.isBare);
          expect(published.args['mandatory']).to.equal(true);
        }
        const declared = distinct(ourDeclarations(side.peer.events));
        expect(declared).to.have.deep.members(distinct(recordedDeclarations(capture, 'client#1')));
      } finally {
        await side.close();
      }
    });
  }
});

describe('our listener in the place of the recorded one (W2, W8, W35)', function () {
  this.timeout(20_000);

  it('acknowledges a duplicate, and does not handle it again (W37)', async () => {
    const side = await OurSide.start();
    try {
      const [recorded] = recordedListeners(readCapture('notify_v1'));
      const [event] = recorded?.deliveries ?? [];
      if (!event) throw new Error('The case has a delivery');
      const replay = await ListenerReplay.start(side, {}, ['notifications.info']);
      expect([await replay.deliver(event, 1), await replay.deliver(event, 2)]).to.deep.equal(['ack', 'ack']);
      expect(replay.seen).to.have.lengthOf(1);
      await replay.listener.stop();
      await replay.listener.wait();
    } finally {
      await side.close();
    }
  });

  for (const [name, row] of Object.entries(NOTIFY_CASES)) {
    const capture = readCapture(name);
    for (const { conn, deliveries } of recordedListeners(capture)) {
      it(`${name}: ${conn} declares the same, sees and settles ${String(deliveries.length)} the same`, async () => {
        const side = await OurSide.start();
        try {
          const theirs = recordedDeclarations(capture, conn);
          const replay = await ListenerReplay.start(side, row, keysOf(theirs));
          expect(ourDeclarations(side.peer.events)).to.have.deep.members(theirs);
          const settled: string[] = [];
          for (const [index, event] of deliveries.entries())
            settled.push(await replay.deliver(event, index + 1));
          expect(settled).to.deep.equal(row.settled ?? deliveries.map(() => 'ack'));
          const seen = recordedSeen(capture);
          if (seen) expect(replay.seen).to.deep.equal(seen);
          else expect(replay.seen).to.have.lengthOf(deliveries.length);
          await replay.listener.stop();
          await replay.listener.wait();
        } finally {
          await side.close();
        }
      });
    }
  }
});
