import { ConfigurationError } from '@ebbgate/core';
import { type FilterRules, type IncomingNotification, NotificationFilter } from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readVectors } from '../../support/vectors.js';

type Json = Readonly<Record<string, unknown>>;

interface Vectors {
  readonly notification: Json;
  readonly rules: readonly (Json & { readonly rule: Json; readonly result?: boolean })[];
}

const { notification, rules } = readVectors('vectors/notification_filters') as Vectors;

/** The rules of a row in our names. */
function ourRules({ publisher_id: publisherId, event_type: eventType, ...others }: Json): FilterRules {
  const given = { publisherId, eventType, ...others };
  return Object.fromEntries(Object.entries(given).filter(([, rule]) => rule !== undefined));
}

/** The notification of a row: some rows have a part of their own. */
function incoming(row: Json): IncomingNotification {
  const parts = { ...notification, ...row };
  const { message_id: messageId, timestamp } = parts['metadata'] as Json; // an object in the table
  const fields = { publisherId: parts['publisher_id'], eventType: parts['event_type'], messageId, timestamp };
  const { payload, context } = parts as Json;
  return { ...fields, payload, context, priority: 'info', uniqueId: undefined } as IncomingNotification; // of the table
}

describe('a filter of notifications', () => {
  for (const row of rules) {
    const { rule, result = false, ...own } = row; // an error in Python is no match here
    it(`decides as oslo.messaging does: ${JSON.stringify({ rule, ...own })}`, () => {
      expect(new NotificationFilter(ourRules(rule)).matches(incoming(row))).to.equal(result);
    });
  }

  it('takes time in proportion to the text where a backtracking expression would never end', () => {
    const filter = new NotificationFilter({ eventType: '(a+)+$' });
    const text = `${'a'.repeat(50_000)}!`;
    expect(filter.matches({ ...incoming({}), eventType: text })).to.equal(false);
  });

  for (const [what, given] of [
    ['an unknown rule', { event: 'x' }],
    ['a broken expression', { eventType: '(' }],
    ['a look-around', { eventType: '(?=x)' }],
    ['a back-reference', { eventType: '(a)\\1' }],
    ['a rule that is no text', { payload: { n: 1 } }],
  ] as const) {
    it(`refuses ${what} when it is made (CORE-09)`, () => {
      expect(() => new NotificationFilter(given as object)).to.throw(ConfigurationError);
    });
  }
});
