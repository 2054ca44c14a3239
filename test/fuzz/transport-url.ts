import { isDeepStrictEqual } from 'node:util';
import { TransportUrl } from '@ebbgate/core';
import type { FuzzTarget } from '../support/fuzz/target.js';
import { readVectors } from '../support/vectors.js';
import { checkRefusal, SECRET, shownOf } from './secret.js';

interface Vector {
  readonly url: string;
}

const RECORDED = ['vectors/transport_urls', 'head/vectors/transport_urls'].flatMap((name) =>
  (readVectors(name) as readonly Vector[]).map(({ url }) => url),
);

const SEEDS = [
  `rabbit://user:${SECRET}@host:5672/`,
  `rabbit://a:${SECRET}@h1:1,b:${SECRET}@h2:2,h3/v%2Fhost?ssl=1&password=${SECRET}`,
  `redis+sentinel://:${SECRET}@[::1]:26379,[fe80::1%25eth0]/0?sentinel_password=${SECRET}&token=${SECRET}`,
  `amqp10s://u%40x:${SECRET}@xn--e1afmkfd/%20?a=1&a=2&b=+`,
  'memory:',
];

const WORDS = [
  ...['://', '//', '/', '@', ':', ',', '?', '&', '=', '+', '#', '%', '%2F', '%40', '%25', '%00', '%ED%A0%80'],
  ...[
    '[',
    ']',
    '[::1]',
    '[v1.x]',
    'rabbit',
    'memory',
    'password',
    'ssl_key_file',
    '__proto__',
    'constructor',
  ],
  ...['é', '\u2028', '\u202e', '𝒳', ':65536', ':00001', '１', SECRET],
];

/** A URL that was understood is printed without its secrets, and written and read again to the same. */
export const target: FuzzTarget = {
  seeds: [...SEEDS, ...RECORDED].map((url) => Buffer.from(url)),
  words: WORDS,
  check(input) {
    const url = parsed(input.toString('utf8'));
    if (!url) return;
    checkPrinted(url);
    const again = TransportUrl.parse(url.format());
    if (
      again.format() !== url.format() ||
      !again.equals(url) ||
      !isDeepStrictEqual([...again.query], [...url.query])
    )
      throw new Error('It is not read as it was written');
    if (!TransportUrl.of(url).equals(url)) throw new Error('Its parts make another');
  },
};

function parsed(text: string): TransportUrl | undefined {
  try {
    return TransportUrl.parse(text);
  } catch (error) {
    checkRefusal(error, 'ERR_INVALID_TRANSPORT_URL');
    return undefined;
  }
}

/** The secret may stand in a part that everybody sees, too: then nothing is said. */
function checkPrinted(url: TransportUrl): void {
  const printed = [
    String(url),
    JSON.stringify(url),
    shownOf(url),
    shownOf(url.hosts),
    shownOf(url.query),
  ].join('\n');
  const open = [
    url.scheme,
    url.virtualHost,
    ...url.hosts.flatMap(({ hostname, username }) => [hostname, username]),
    ...[...url.query].flatMap(([name, value]) => [name, /pass|token|key/.test(name) ? '' : value]),
  ].join('\n');
  if (printed.includes(SECRET) && !open.includes(SECRET))
    throw new Error('It shows its secret when it is printed');
}
