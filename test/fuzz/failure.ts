import { isDeepStrictEqual } from 'node:util';
import { decodeJson, encodePlain, MessagingError } from '@ebbgate/core';
import { decodeFailure, encodeFailure } from '#rpc/failure.js';
import { RemoteErrorRegistry } from '#rpc/remote-error-registry.js';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { readVectors } from '../support/vectors.js';
import { SECRET, shownOf } from './secret.js';

class QuotaError extends Error {
  readonly limit: number = 0;
}

const registry = new RemoteErrorRegistry([QuotaError]).register(QuotaError, {
  name: 'Quota',
  module: 'nova.exception',
});
/** Whatever a peer sends becomes one of these, or one of the family. */
const OTHERS: ReadonlySet<unknown> = new Set([QuotaError, TypeError, RangeError]);

const RECORDED = readVectors('failures') as readonly { readonly failure: unknown }[];
const own = (name: string, code: string, data: object): object => ({
  ...{
    class: name,
    module: 'ebbgate',
    message: 'm',
    tb: [],
    args: ['m'],
    kwargs: {},
    ebbgate: { name, code, data },
  },
});
const SEEDS = [
  own('QuotaError', 'QUOTA', { limit: 7 }),
  own('ValidationError', 'ERR_VALIDATION', { method: 'm', issues: [{ path: 'a', message: 'b' }] }),
  own('ServerWaitTimeoutError', 'ERR_WAIT_TIMEOUT', { running: 1 }),
  own('NoSuchMethodError', 'ERR_NO_SUCH_METHOD', { method: 'm' }),
  own('TypeError', 'ERR_INVALID_ARG_TYPE', { stack: 's', cause: 1, toString: 1 }),
  {
    class: 'UnsupportedVersion_Remote',
    module: 'oslo_messaging.rpc.dispatcher_Remote',
    message: 'm',
    tb: ['a\n'],
  },
];

const WORDS = [
  ...[
    '"class":',
    '"module":',
    '"message":',
    '"tb":',
    '"args":',
    '"kwargs":',
    '"ebbgate":',
    '"name":',
    '"code":',
    '"data":',
  ],
  ...[
    '"ebbgate"',
    '"builtins"',
    '"exceptions"',
    '"oslo_messaging.rpc.dispatcher"',
    '"nova.exception"',
    '_Remote"',
  ],
  ...[
    '"Quota"',
    '"QuotaError"',
    '"TypeError"',
    '"RemoteError"',
    '"MessagingTimeoutError"',
    '"ERR_TIMEOUT"',
    '"limit":',
  ],
  ...[
    '"__proto__":',
    '"constructor":',
    '"prototype":',
    '"stack":',
    '"cause":',
    '"toString":',
    '"outcome":',
    '"running":',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    'null',
    '-1',
    '\\n',
    '\\ud800',
    '://',
    'password=',
    'token="',
    "secret='",
    '@',
  ],
];

/** A failure becomes an error of a known type, which can be shown and passed on as it came, without what is secret. */
export const target: FuzzTarget = {
  seeds: [...SEEDS, ...RECORDED.map(({ failure }) => failure)].map((failure) =>
    Buffer.from(typeof failure === 'string' ? failure : JSON.stringify(failure)),
  ),
  words: WORDS,
  check(input) {
    const text = input.toString('utf8');
    checkError(decodeFailure(text, registry));
    const value = parsed(text);
    if (value !== undefined) checkError(decodeFailure(value, registry));
    const secret = decodeFailure(
      { class: 'E', module: 'm', message: `${text} rabbit://u:${SECRET}@h` },
      registry,
    );
    if (shownOf(secret).includes(SECRET) && !text.includes(SECRET)) throw new Error('It shows a password');
  },
};

function parsed(text: string): unknown {
  try {
    return decodeJson(text);
  } catch {
    return undefined; // it was read as text above
  }
}

function checkError(error: unknown): void {
  if (!(error instanceof Error)) throw new Error('It is no error');
  if (!(error instanceof MessagingError) && !OTHERS.has(error.constructor))
    throw new Error('It is of no known type');
  if (typeof error.message !== 'string' || typeof error.name !== 'string')
    throw new Error('It is no error to look at');
  if (String(error) === '' || shownOf(error) === '') throw new Error('It says nothing');
  const sent = encodePlain(encodeFailure(error, { registry }));
  const again = encodePlain(encodeFailure(decodeFailure(sent, registry), { registry }));
  if (!isDeepStrictEqual(again, sent)) throw new Error('It is not passed on as it came');
}
