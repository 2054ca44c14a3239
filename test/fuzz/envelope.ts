import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import {
  bytesBody,
  decodeEnvelopedBytes,
  decodeEnvelopedObject,
  decodeJson,
  encodeJson,
  type PlainObject,
  readEnvelopedObject,
  type WireMessage,
  wrapEnvelope,
} from '@ebbgate/core';
import { readNotification } from '#notify/notification-message.js';
import { readReply, readRequest } from '#rpc/envelope.js';
import { depthOf, TOO_DEEP } from '../support/depth.js';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { capturedBodies } from './captured-bodies.js';
import { checkRefusal, SECRET } from './secret.js';

const REFUSED = 'ERR_SERIALIZATION';
const enveloped = (message: string, version = '2.0'): Buffer =>
  Buffer.from(JSON.stringify({ 'oslo.version': version, 'oslo.message': message }));

const SEEDS = [
  enveloped(`{"method":"m","args":{"password":"${SECRET}"},"_context_auth_token":"${SECRET}"}`),
  enveloped(`{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}},"n":[-0,1e400,NaN,9007199254740993]}`),
  enveloped(`{"a":${'['.repeat(300)}${']'.repeat(300)}}`),
  enveloped(`{"a":"\\ud800${SECRET}"`),
  enveloped('{}', '2.1'),
];

const WORDS = [
  ...['{"oslo.version":"2.0","oslo.message":"', '"oslo.version"', '"oslo.message"', '2.0.0.x', '\\"', '\\\\'],
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\u0000',
    '\\ud800',
    '\ufeff',
    'NaN',
    '-Infinity',
    '-0',
    '1e400',
    'null',
  ],
  ...[
    '"__proto__":',
    '"constructor":',
    '"method":',
    '"args":',
    '"namespace":',
    '"version":',
    '"_msg_id":',
    '"_reply_q":',
  ],
  ...[
    '"_unique_id":',
    '"_timeout":',
    '"_context_',
    '"result":',
    '"failure":',
    '"ending":',
    '"event_type":',
    '"payload":',
  ],
  ...['"priority":', '"publisher_id":', '"message_id":', '"timestamp":', '99999999999999999999', SECRET],
];

/** A body is read alike by the quick way and the plain one, what it gives can be sent on, and it is refused in one manner. */
export const target: FuzzTarget = {
  seeds: [...SEEDS, ...capturedBodies()],
  words: WORDS,
  check(input) {
    const quick = outcome(() => decodeEnvelopedBytes(input));
    if (isUtf8(input)) {
      const plain = outcome(() => readEnvelopedObject(decodeJson(input.toString('utf8'))));
      if (!isDeepStrictEqual(plain, quick))
        throw new Error('The quick way reads something else than the plain one');
    }
    if (quick && depthOf(quick) >= TOO_DEEP) throw new Error('It is deeper than what may be read');
    if (quick) checkSentOn(quick);
    const message: WireMessage = {
      id: undefined,
      body: bytesBody(input),
      deadline: undefined,
      expirationMs: undefined,
    };
    for (const read of [readRequest, readReply, readNotification]) outcome(() => read(message));
  },
};

function outcome<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    checkRefusal(error, REFUSED);
    return undefined;
  }
}

/** What cannot be sent, NaN, say, or is deeper than what is sent, is refused. */
function checkSentOn(object: PlainObject): void {
  const text = outcome(() => encodeJson(object));
  if (text !== undefined && encodeJson(decodeEnvelopedObject(wrapEnvelope(text))) !== text)
    throw new Error('It is not read as it was sent on');
}
