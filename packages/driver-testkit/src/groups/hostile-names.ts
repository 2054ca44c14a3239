import assert from 'node:assert/strict';
import type { ServerSource } from '@ebbgate/core';
import { type Case, type Group, test, testWith } from '../case.js';
import type { Lab } from '../lab.js';
import { numbered, toFanout, toServer, toTopic } from '../test-message.js';

/** Names that mean something to some broker, file system, pattern or object. */
const NAMES: readonly (readonly [what: string, name: string])[] = [
  ['dots', '.a..b.'],
  ['slashes', '/a//../b/'],
  ['wildcards', '#.*.a.>'],
  ['blanks', '  a b\t'],
  ['line ends', 'a\r\nb\n'],
  ['a NUL', 'a\u0000b'],
  ['percent signs', '%2E%zz%'],
  ['quotes and brackets', `"'\`{}[]<>`],
  ['colons and braces', 'a:b::{c}'],
  ['URL parts', 'amqp://u:p@h/v?x=1&y#z'],
  ['letters beyond ASCII', 'größe-仕事-\u202e'],
  ['signs beyond the basic plane', '🌊🌊'],
  ['a prototype', '__proto__'],
  ['a method of objects', 'hasOwnProperty'],
  ['reserved words', 'amq.reply_fanout'],
  ['300 characters', 'long-'.repeat(60)],
];

/** Each part of the address holds the name: it is reached by topic, by server and by fanout. */
function isReached([what, name]: readonly [string, string]): Case {
  return test(`a name with ${what} is a name like any other, in every part of an address (CORE-06, SEC-06)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const plain = lab.source();
    const source = lab.source({ exchange: name, topic: `${plain.topic}${name}`, server: name });
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.send(sender, toTopic(source), 'by topic');
    await lab.send(sender, toServer(source), 'by server');
    const texts = ['by server', 'by topic'];
    if (lab.features.fanout) {
      await lab.send(sender, toFanout(source), 'by fanout');
      texts.push('by fanout');
    }
    await lab.expectOnce(sender, [inbox], texts);
  });
}

/** Makes two sources from a part that nobody else has. */
type Twins = (part: string) => readonly [ServerSource, ServerSource];

const server = 'server';

/** Addresses that a careless encoding takes for one. */
const TWINS: readonly (readonly [what: string, twins: Twins])[] = [
  [
    'a dot between exchange and topic',
    (x) => [
      { exchange: `${x}.b`, topic: 'c', server },
      { exchange: x, topic: 'b.c', server },
    ],
  ],
  [
    'a dot between topic and server',
    (x) => [
      { exchange: x, topic: 'a.b', server: 'c' },
      { exchange: x, topic: 'a', server: 'b.c' },
    ],
  ],
  [
    'a colon between topic and server',
    (x) => [
      { exchange: x, topic: 'a:b', server: 'c' },
      { exchange: x, topic: 'a', server: 'b:c' },
    ],
  ],
  [
    'case',
    (x) => [
      { exchange: x, topic: 'Topic', server },
      { exchange: x, topic: 'topic', server },
    ],
  ],
  [
    'a blank at the end',
    (x) => [
      { exchange: x, topic: 'topic ', server },
      { exchange: x, topic: 'topic', server },
    ],
  ],
  [
    'percent encoding',
    (x) => [
      { exchange: x, topic: 'a%2Eb', server },
      { exchange: x, topic: 'a.b', server },
    ],
  ],
  [
    'two forms of one letter',
    (x) => [
      { exchange: x, topic: 'caf\u00e9', server },
      { exchange: x, topic: 'cafe\u0301', server },
    ],
  ],
  [
    'the last of 400 characters',
    (x) => [
      { exchange: x, topic: `${'t'.repeat(400)}a`, server },
      { exchange: x, topic: `${'t'.repeat(400)}b`, server },
    ],
  ],
  [
    'the topic and a server of it',
    (x) => [
      { exchange: x, topic: 'a', server: 'b' },
      { exchange: x, topic: 'a.b', server: 'c' },
    ],
  ],
  [
    'a name of fanouts',
    (x) => [
      { exchange: x, topic: 'a', server: 'fanout' },
      { exchange: x, topic: 'a_fanout', server },
    ],
  ],
];

async function stayApart(lab: Lab, twins: Twins): Promise<void> {
  const { sender, receiver } = await lab.pair();
  const [a, b] = twins(lab.name('x'));
  const inboxes = [
    await lab.listen(receiver, a, { settling: 'accept' }),
    await lab.listen(receiver, b, { settling: 'accept' }),
  ] as const;
  for (const [which, source] of [
    ['a', a],
    ['b', b],
  ] as const) {
    await lab.sendAll(sender, toTopic(source), numbered(`${which}-topic`, 3));
    await lab.sendAll(sender, toServer(source), numbered(`${which}-server`, 3));
  }
  await lab.expectOnce(sender, [inboxes[0]], [...numbered('a-topic', 3), ...numbered('a-server', 3)]);
  await lab.expectOnce(sender, [inboxes[1]], [...numbered('b-topic', 3), ...numbered('b-server', 3)]);
}

export const hostileNames: Group = {
  name: 'hostile names',
  cases: [
    ...NAMES.map(isReached),
    ...TWINS.map(([what, twins]) =>
      testWith(['isolatedNames'], `two addresses that differ only by ${what} stay apart (CORE-06)`, (lab) =>
        stayApart(lab, twins),
      ),
    ),

    test('RPC: method, argument and context names are never looked up on objects (SEC-02, SEC-06)', async (lab) => {
      const { sender, receiver } = await lab.pair();
      const target = lab.source();
      const own = (_: unknown, args: Record<string, unknown>): string[] => Object.keys(args);
      await lab.serve(receiver, target, { own });
      const client = lab.client(sender, target);
      const args = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}') as object; // own members
      assert.deepEqual(await lab.until(client.call({}, 'own', args), 'a call'), [
        '__proto__',
        'constructor',
        'toString',
      ]);
      assert.equal('polluted' in {}, false);
      for (const method of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
        await lab.until(
          assert.rejects(client.call({}, method), { code: 'ERR_NO_SUCH_METHOD' }),
          `the refusal of "${method}"`,
        );
      }
    }),
  ],
};
