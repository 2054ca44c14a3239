import { NotificationFilter } from '@ebbgate/notify';
import { shellPattern } from '#notify/pattern.js';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { readVectors } from '../support/vectors.js';
import { checkRefusal } from './secret.js';

interface Vectors {
  readonly rules: readonly { readonly rule: Readonly<Record<string, unknown>> }[];
}

const RECORDED = (readVectors('vectors/notification_filters') as Vectors).rules.flatMap(({ rule }) =>
  Object.values(rule).filter((value) => typeof value === 'string'),
);
const SEEDS = [...RECORDED, '(a|b)*\\d{1,9}$', '(?i)[^\\p{L}-z]+?', 'compute.[!a-c]*.?', '[]a]', '((a+)+)+$'];

const WORDS = [
  ...[
    '(',
    ')',
    '[',
    ']',
    '[^',
    '[!',
    '{1000}',
    '{0,}',
    '*',
    '+',
    '?',
    '|',
    '\\',
    '\\pL',
    '\\Q',
    '\\E',
    '^',
    '$',
    '.*',
  ],
  ...[
    '(?i)',
    '(?P<a>',
    '(?=',
    '\\1',
    '[[:alpha:]]',
    '\\x{10FFFF}',
    'aaaa',
    'compute.instance',
    '\ud83d\ude00',
    '__proto__',
  ],
];

/** A line that is a pattern, and texts: it is refused when it is made, or decides every text, in a time that is bounded. */
export const target: FuzzTarget = {
  seeds: SEEDS.map((pattern) => Buffer.from(`${pattern}\ncompute.instance.create`)),
  words: WORDS,
  check(input) {
    const [pattern = '', ...rest] = input.toString('utf8').split('\n');
    const text = rest.join('\n');
    const filter = madeOf(
      () => new NotificationFilter({ eventType: pattern, payload: { [pattern]: pattern } }),
    );
    const isMatch = filter?.matches({
      ...{
        uniqueId: undefined,
        messageId: undefined,
        publisherId: null,
        priority: 'info',
        timestamp: undefined,
      },
      ...{ eventType: text, payload: { text }, context: {} },
    });
    if (isMatch && pattern !== 'text') throw new Error('A member that is not there matches');
    const shell = madeOf(() => shellPattern(pattern));
    if (shell && /^[\w.]*$/.test(pattern) && shell.matchesAll(text) !== (text === pattern))
      throw new Error('A pattern without signs is its own text and no other');
  },
};

function madeOf<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    checkRefusal(error, 'ERR_CONFIGURATION');
    return undefined;
  }
}
