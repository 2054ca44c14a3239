import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { capturedBodies } from '../fuzz/captured-bodies.js';

/** Names that are members of something, and other trouble. */
export const HOSTILE_NAMES: readonly string[] = [
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'then',
    'toJSON',
    'length',
  ],
  ...['', ' ', '\u0000', '\ud800', '#', '*', 'a.b', '../x', '🙂', '\u202e', '\r\n', '%00', 'x'.repeat(255)],
];

const enveloped = (message: string): string =>
  JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': message });
const hostileName = fc.constantFrom(...HOSTILE_NAMES);

/** As text: there a member named __proto__ is one. */
const hostileObject = fc
  .array(
    fc.tuple(
      hostileName,
      fc.oneof(
        fc.json({ maxDepth: 2 }),
        hostileName.map((name) => JSON.stringify(name)),
      ),
    ),
    {
      maxLength: 4,
    },
  )
  .map((pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`);

/** A recorded message with some of its bytes changed, left out or doubled. */
const spoiltCapture = fc
  .tuple(
    fc.constantFrom(...capturedBodies()),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
    fc.nat(),
  )
  .map(([body, changes, cut]) => {
    const bytes = Buffer.from(body);
    for (const [at, value] of changes) bytes[at % bytes.byteLength] = value;
    return cut % 3 === 0 ? bytes.subarray(0, cut % bytes.byteLength) : bytes;
  });

/** Bodies as nobody should send them, or as somebody might. */
export const hostileBody: fc.Arbitrary<Buffer> = fc.oneof(
  spoiltCapture,
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(enveloped(text))),
  hostileObject.map((text) => Buffer.from(enveloped(text))),
  fc
    .tuple(hostileName, hostileObject, hostileName)
    .map(([method, args, id]) =>
      Buffer.from(
        enveloped(`{"method":${JSON.stringify(method)},"args":${args},"_msg_id":${JSON.stringify(id)}}`),
      ),
    ),
);

/** Bodies that are small to send, and large or deep to read. */
export const BOMBS: readonly Buffer[] = [
  '['.repeat(200_000),
  '{"a":'.repeat(50_000),
  enveloped(`{"method":"m","args":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`),
  enveloped(`{"method":"m","args":{"a":${'9'.repeat(100_000)}}}`),
  `{"oslo.message":"${'\\"'.repeat(100_000)}`,
  `${' '.repeat(300_000)}{`,
].map((text) => Buffer.from(text));

/** A zlib stream of so many zeros. */
export function unfolding(megabytes: number): Buffer {
  return deflateSync(Buffer.alloc(megabytes * 1024 ** 2));
}

/** So many hostile bodies; the same for a seed. */
export function hostileBodies(count: number, seed: number): Buffer[] {
  return fc.sample(hostileBody, { numRuns: count, seed });
}
