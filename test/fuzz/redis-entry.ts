import { Deadline } from '@ebbgate/core';
import { entryOf, readEntry } from '#driver-redis/entry.js';
import { readTime, StoreClock } from '#driver-redis/store-clock.js';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { checkRefusal } from './secret.js';

const SEEDS = [
  '\n{}',
  '1700000000000\n{}',
  '1700000000000!\n{}',
  '!\n',
  '{}',
  `${'9'.repeat(400)}\n{}`,
  '0\n',
];

/** An entry of a queue on Redis: read, whatever it is, into a message that is refused, or has the bytes behind its line. */
export const target: FuzzTarget = {
  seeds: SEEDS.map((entry) => Buffer.from(entry)),
  words: ['\n', '!', '0', '99999999999999999999', '1700000000000', '-1', '{}', '\u0000'],
  check(input) {
    const { message, again } = readEntry(input, new StoreClock());
    const { deadline } = message;
    if (deadline && (!(deadline instanceof Deadline) || Number.isNaN(deadline.remainingMs)))
      throw new Error('Its deadline is none');
    const body = bodyOf(() => message.body.encode());
    const parts = /^(\d*)(!?)\n/.exec(input.toString('latin1'));
    if ((parts === null) !== (body === undefined))
      throw new Error('What has a line is read, and nothing else');
    if (again !== /^\d*!/.test(input.toString('latin1')))
      throw new Error('Whether it came before is misread');
    if (body && !again && !entryOf(body, parts?.[1] ?? '').equals(input))
      throw new Error('It is not written as it was');
    const time = readTime(input.toString('latin1').split('\n'));
    if (time !== undefined && !Number.isFinite(time)) throw new Error('The time of the store is none');
  },
};

function bodyOf(read: () => Uint8Array): Uint8Array | undefined {
  try {
    return read();
  } catch (error) {
    checkRefusal(error, 'ERR_SERIALIZATION');
    return undefined;
  }
}
