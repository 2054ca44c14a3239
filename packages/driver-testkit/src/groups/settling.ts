import assert from 'node:assert/strict';
import { type Case, type Group, test, testWith } from '../case.js';
import { toTopic } from '../test-message.js';
import {
  boundToItsChannel,
  type ChannelLoss,
  comesAgain,
  settle,
  settlings,
  type SettlingVerb,
} from '../traits.js';

/** A settled delivery makes room for the next one, however it was settled. */
function makesRoom(verb: SettlingVerb): Case {
  const title = `${verb}() makes room for the next delivery (AMQP-29, AMQP-36)`;
  return testWith(verb === 'release' ? ['release'] : [], title, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { credit: 1 });
    await lab.sendAll(sender, toTopic(source), ['one', 'two', 'three']);
    await settle(await inbox.next(), verb);
    await settle(await inbox.next(), verb);
    assert.equal(await (await inbox.next()).accept(), true);
  });
}

const losses: readonly ChannelLoss[] = [
  {
    when: 'after the close of its listener',
    ids: 'AMQP-11, AMQP-39',
    needs: [],
    lose: async (lab, { receiver, inbox }) => {
      await lab.until(inbox.listener.close(), 'close() of a listener');
      return lab.listen(receiver, inbox.source);
    },
  },
  {
    when: 'after the close of its transport',
    ids: 'AMQP-11, CORE-05',
    needs: [],
    lose: async (lab, { receiver, inbox }) => {
      await lab.until(receiver.close(), 'close() of a transport');
      return lab.listen(await lab.transport(), inbox.source);
    },
  },
];

export const settling: Group = {
  name: 'settling',
  cases: [
    test('accept() says true, and what was accepted never comes again (AMQP-29)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.send(sender, toTopic(source), 'accepted');
      assert.equal(await inbox.acceptNext(), 'accepted');
      assert.deepEqual(
        await lab.until(inbox.listener.close(), 'close()'),
        [],
        'close() must confirm the acknowledgement',
      );
      const next = await lab.listen(receiver, source);
      await lab.send(sender, toTopic(source), 'fresh');
      assert.equal(await next.acceptNext(), 'fresh');
    }),

    testWith(['release'], 'release() gives a message back for a sibling at once (AMQP-39)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { credit: 1 });
      await lab.send(sender, toTopic(source), 'passed on');
      const delivery = await inbox.next();
      await lab.until(inbox.listener.stop(), 'stop()');
      const sibling = await lab.listen(receiver, lab.source({ ...source, server: lab.name('sibling') }));
      delivery.release();
      assert.equal(await sibling.acceptNext(), 'passed on');
    }),

    testWith(
      ['release', 'redelivered'],
      'a message that comes back is marked as redelivered, a fresh one is not (decision 1)',
      async (lab) => {
        const { sender, receiver } = await lab.pair();
        const source = lab.source();
        const inbox = await lab.listen(receiver, source);
        await lab.send(sender, toTopic(source), 'twice');
        const first = await inbox.next();
        assert.equal(first.redelivered, false);
        first.release();
        const second = await inbox.next();
        assert.equal(second.redelivered, true);
        assert.equal(second.message.id, first.message.id);
        assert.equal(await second.accept(), true);
      },
    ),

    test('reject() drops a message for good, and the next ones flow (AMQP-30)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { credit: 1 });
      await lab.send(sender, toTopic(source), 'poison');
      (await inbox.next()).reject();
      await lab.send(sender, toTopic(source), 'good');
      assert.equal(await inbox.acceptNext(), 'good');
      await lab.until(inbox.listener.close(), 'close()');
      const next = await lab.listen(receiver, source);
      await lab.send(sender, toTopic(source), 'fresh');
      assert.equal(await next.acceptNext(), 'fresh');
    }),

    ...settlings.map(makesRoom),
    ...losses.map(comesAgain),
    ...losses.flatMap(boundToItsChannel),
  ],
};
