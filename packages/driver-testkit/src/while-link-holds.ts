import { AssertionError } from 'node:assert/strict';
import { setTimeout as clock } from 'node:timers/promises';
import { Deadline } from '@ebbgate/core';
import type { Case } from './case.js';
import { Lab } from './lab.js';
import { later } from './later.js';
import type { Suite } from './suite-options.js';

/** What the loss of a connection does, whatever the driver, to what the tests below look at. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  'what is not settled goes to anybody': [
    'a server whose credit is used up leaves messages of the topic to its siblings (AMQP-39)',
    'never more than 1 unsettled deliveries with that credit (AMQP-01, AMQP-39)',
    'never more than 3 unsettled deliveries with that credit (AMQP-01, AMQP-39)',
    'deliveries can be settled after stop() (AMQP-39)',
    "RPC: with fetched: 'release' what has no slot yet goes to a sibling (AMQP-39)",
    'what was not handled at stop() goes back for the others (decision 8)',
    'what was not handled at stop() goes back for the others of its pool (decision 8)',
  ],
  'what was under way is marked as redelivered, too': [
    'a message that comes back is marked as redelivered, a fresh one is not (decision 1)',
  ],
  'an acknowledgement, a refusal or a removal that was under way may not have arrived': [
    'accept() says true, and what was accepted never comes again (AMQP-29)',
    'a notification that was accepted never comes again (AMQP-29)',
    'RPC: a malformed message is refused once, and the server goes on (AMQP-29, AMQP-30)',
    'close() says that nothing is unconfirmed, and nothing arrives after it (AMQP-39, AMQP-40)',
    'RPC: what runs at stop() is finished and answered before wait() resolves (CORE-03)',
    'a reply is undeliverable after the close of its queue (AMQP-33, AMQP-37)',
    'a reply is undeliverable after the close of its transport (AMQP-33, AMQP-37)',
  ],
  'it is told, and shows': [
    'the connection is told as it comes and goes (AMQP-08)',
    'status() tells which listeners are subscribed (AMQP-08)',
    'a subscription that the broker ends comes back, and both are told (AMQP-07, AMQP-08)',
  ],
  'what waits for the broker fails, and leaves its place': [
    'sends while the broker does not answer are bounded by their number: one more fails at once (AMQP-01, AMQP-31)',
    'sends while the broker does not answer are bounded by their bytes: one more fails at once (AMQP-01, AMQP-31)',
  ],
};

/**
 * The tests, by their titles, that mean something only as long as no connection is lost, with the reason: what a loss does.
 * On an unsteady link they are run, too, again and again until no loss was told meanwhile: stalls, delays and short writes
 * do not excuse them. All other tests must pass whatever the link does.
 */
export const LINK_MUST_HOLD: ReadonlyMap<string, string> = new Map(
  Object.entries(REASONS).flatMap(([reason, titles]) => titles.map((title) => [title, reason] as const)),
);

/** So many times the `waitMs` of a test, until the link must have held for once. */
const PATIENCE = 3;
/** So long after a failure the driver may need to tell the loss that explains it. */
const TELL_MS = 100;

/** Runs the test until it passes, or fails, without a loss of its link. */
export async function whileLinkHolds(suite: Suite, one: Case): Promise<void> {
  const deadline = Deadline.after(PATIENCE * suite.waitMs);
  for (let times = 1; ; times += 1) {
    const lab = new Lab(suite);
    const outcome = await judged(lab, one);
    await lab.end().catch((error: unknown) => {
      if (outcome === 'passed') throw error;
    });
    if (outcome === 'passed') return;
    if (outcome !== 'lost') throw outcome.failure;
    if (deadline.expired)
      throw new AssertionError({ message: `The link was lost each of ${String(times)} times` });
  }
}

async function judged(lab: Lab, one: Case): Promise<'passed' | 'lost' | { readonly failure: unknown }> {
  const lost = lab.linkLost.then(() => 'lost' as const);
  const run = later(one.run(lab)); // goes on when the link is lost, without transports
  try {
    return await Promise.race([run.then(() => 'passed' as const), lost]);
  } catch (failure) {
    return Promise.race([lost, clock(TELL_MS, { failure })]);
  }
}
