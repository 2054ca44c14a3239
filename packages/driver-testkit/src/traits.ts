import assert from 'node:assert/strict';
import { type Delivery, MessagingError, type Transport } from '@ebbgate/core';
import { type Case, type Need, testWith } from './case.js';
import type { Inbox } from './inbox.js';
import type { Lab } from './lab.js';
import { textOf, toTopic } from './test-message.js';

/** Settles to the error of `work`, which must be one of the family and have that code. */
export async function failsWith(
  lab: Lab,
  code: string,
  work: Promise<unknown>,
  what: string,
): Promise<MessagingError> {
  const outcome: unknown = await lab.until(
    work.then(
      () => undefined,
      (error: unknown) => error,
    ),
    `${what} to fail`,
  );
  assert.ok(
    outcome instanceof MessagingError,
    `${what} must fail with an error of the family, not with ${String(outcome)}`,
  );
  assert.equal(outcome.code, code, `${what} must fail with ${code}: ${outcome.message}`);
  return outcome;
}

/** What is begun after `close()` fails with `ERR_TRANSPORT_CLOSED`. */
export function failsWhenClosed(
  verb: string,
  act: (lab: Lab, transport: Transport) => Promise<unknown>,
): Case {
  return testWith(
    [],
    `${verb} fails with ERR_TRANSPORT_CLOSED after close() (RPC-01, CORE-02)`,
    async (lab) => {
      const transport = await lab.transport();
      await lab.until(transport.close(), 'close()');
      await failsWith(lab, 'ERR_TRANSPORT_CLOSED', act(lab, transport), verb);
    },
  );
}

/** The three ways to settle a delivery. */
export const settlings = ['accept', 'release', 'reject'] as const;
export type SettlingVerb = (typeof settlings)[number];

export async function settle(delivery: Delivery, verb: SettlingVerb): Promise<unknown> {
  return delivery[verb]();
}

/** The two sides of a test, and the inbox that loses its channel. */
export interface Stage {
  readonly sender: Transport;
  readonly receiver: Transport;
  readonly inbox: Inbox;
}

/** What happens to a channel, and where its deliveries come again. */
export interface ChannelLoss {
  /** As in `after the close of its listener`. */
  readonly when: string;
  readonly ids: string;
  readonly needs: readonly Need[];
  /** Brings the loss about; gives the inbox at which the message must come again. */
  readonly lose: (lab: Lab, stage: Stage) => Promise<Inbox>;
}

/** Settling is bound to the channel: after its loss it does nothing, `accept` says so, and the message comes once more. */
export function boundToItsChannel({ when, ids, needs, lose }: ChannelLoss): Case[] {
  return settlings.map((verb) =>
    testWith(needs, `${verb}() ${when} does nothing, and the message comes again (${ids})`, async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source, { credit: 10 });
      await lab.send(sender, toTopic(source), 'one');
      const delivery = await inbox.next();
      inbox.giveBack();
      const heir = await lose(lab, { sender, receiver, inbox });
      const outcome = await settle(delivery, verb);
      if (verb === 'accept') assert.equal(outcome, false, 'accept() of a delivery whose channel is gone');
      assert.equal(await heir.acceptNext(), 'one');
      await lab.send(sender, toTopic(source), 'two');
      assert.equal(await heir.acceptNext(), 'two', 'the message came more than once again');
    }),
  );
}

/** After the loss of its channel an unsettled delivery comes again. */
export function comesAgain({ when, ids, needs, lose }: ChannelLoss): Case {
  return testWith(needs, `what was not settled comes again ${when} (${ids})`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source);
    await lab.sendAll(sender, toTopic(source), ['one', 'two', 'three']);
    await inbox.take(3);
    inbox.giveBack();
    const heir = await lose(lab, { sender, receiver, inbox });
    const again = await heir.take(3);
    const accepted = await Promise.all(again.map(async (delivery) => delivery.accept()));
    assert.deepEqual(accepted, [true, true, true]);
    if (lab.features.redelivered)
      assert.ok(
        again.every(({ redelivered, message }) => redelivered || lab.mayBeTwice(textOf(message))),
        'not marked as redelivered',
      );
  });
}
