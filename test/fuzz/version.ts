import { capAllows, checkVersion, isCompatible } from '#rpc/version.js';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { readVectors } from '../support/vectors.js';
import { checkRefusal } from './secret.js';

interface Vector {
  readonly implemented: string | null;
  readonly requested: string | null;
}

const RECORDED = (readVectors('vectors/versions') as readonly Vector[]).map(
  ({ implemented, requested }) => `${implemented ?? ''}\n${requested ?? ''}`,
);

/** Two versions, a line each: they are compared or refused, and what may be sent is what may be served. */
export const target: FuzzTarget = {
  seeds: RECORDED.map((lines) => Buffer.from(lines)),
  words: [
    '.',
    '1.',
    '0',
    '65535',
    '9007199254740992',
    '-1',
    '+1',
    ' ',
    '\t',
    '\u00a0',
    '１',
    '1e3',
    '0x1',
    '__proto__',
    'null',
  ],
  check(input) {
    const [ours = '', ...rest] = input.toString('utf8').split('\n');
    const theirs = rest.join('\n');
    const answer = refusedWith('ERR_UNSUPPORTED_VERSION', () => isCompatible(ours, theirs));
    if (capAllows(ours, theirs) !== (answer === true)) throw new Error('The cap and the server do not agree');
    for (const version of [ours, theirs]) {
      const isOne = refusedWith('ERR_CONFIGURATION', () => checkVersion(version)) !== undefined;
      if (isOne && !isCompatible(version, version)) throw new Error('A version does not fit itself');
      if (isOne && answer === undefined && version === ours) refusedFor(theirs);
    }
  },
};

/** Ours is a version: then it must have been theirs that was refused. */
function refusedFor(theirs: string): void {
  if (refusedWith('ERR_CONFIGURATION', () => checkVersion(theirs)) !== undefined)
    throw new Error('Two versions cannot be compared');
}

function refusedWith<T>(code: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    checkRefusal(error, code);
    return undefined;
  }
}
