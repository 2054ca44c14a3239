import { inspect } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { InvalidTransportUrlError, type MessagingError } from '#core/errors.js';
import { TransportUrl, type TransportUrlParts } from '#core/transport-url.js';
import { readVectors } from '../../support/vectors.js';

interface UrlVector {
  url: string;
  parsed: {
    result?: {
      transport: string;
      virtual_host: string | null;
      query: Record<string, string>;
      hosts: { hostname: string; port: number | null; username: string | null; password: string | null }[];
      str: string;
    };
  };
}

/** What Python takes and we refuse, with the reason: `docs/decisions/0002-transport-url.md`. */
const REFUSED = new Map([
  ['rabbit://host:/v', 'an empty port, refused by oslo.messaging since 15 too'],
  ['rabbit://u:p@/v', 'credentials for no host: no version of oslo.messaging can connect with it'],
  ['rabbit://u@x:p@host/v', 'two "@": which one ends the credentials?'],
  ['rabbit://u:p@q@host/v', 'two "@": which one ends the credentials?'],
  ['', 'no URL: the default belongs to whoever reads the configuration'],
  ['host:5672', 'a forgotten scheme, which Python reads as the scheme "host"'],
  ['rabbit://host/v#frag', 'a "#" that Python cuts off with what follows, also in a password'],
]);

/** Where Python prints another URL than it has read: it makes no virtual host an empty one. */
const NO_VIRTUAL_HOST = new Set([
  'rabbit://',
  'rabbit:',
  'rabbit://host',
  'rabbit://h1,h2,h3',
  'rabbit://host?x=y',
  'fake:',
  'fake://',
]);

function fieldsOf(url: TransportUrl): object {
  return {
    transport: url.scheme,
    virtual_host: url.virtualHost ?? null,
    query: Object.fromEntries(url.query),
    hosts: url.hosts.map((host) => ({
      hostname: host.hostname,
      port: host.port ?? null,
      username: host.username ?? null,
      password: host.password ?? null,
    })),
  };
}

function refusalOf(action: () => unknown): MessagingError {
  try {
    action();
  } catch (error) {
    expect(error).to.be.instanceOf(InvalidTransportUrlError);
    return error as MessagingError;
  }
  throw new Error('nothing was refused');
}

for (const path of ['vectors/transport_urls', 'head/vectors/transport_urls']) {
  describe(`TransportUrl, by ${path}`, () => {
    const vectors = readVectors(path) as UrlVector[];

    for (const { url, parsed } of vectors) {
      const deviation = REFUSED.get(url);
      if (parsed.result === undefined || deviation !== undefined) {
        it(`refuses "${url}"${deviation === undefined ? '' : `: ${deviation}`} (CORE-08)`, () => {
          expect(refusalOf(() => TransportUrl.parse(url)).code).to.equal('ERR_INVALID_TRANSPORT_URL');
        });
        continue;
      }
      const { str, ...fields } = parsed.result;
      it(`reads "${url}" as oslo.messaging does (CORE-08)`, () => {
        expect(fieldsOf(TransportUrl.parse(url))).to.deep.equal(fields);
      });
      it(`formats "${url}" as oslo.messaging does, or as it was (CORE-08)`, () => {
        const expected = NO_VIRTUAL_HOST.has(url) ? str.replace(/\/(?=$|\?)/, '') : str;
        expect(TransportUrl.parse(url).format()).to.equal(expected);
      });
    }

    it('accounts for every deviation', () => {
      const urls = new Set(vectors.map(({ url }) => url));
      expect([...REFUSED.keys(), ...NO_VIRTUAL_HOST].filter((url) => !urls.has(url))).to.deep.equal([]);
      expect(vectors).to.have.length(51);
    });
  });
}

describe('TransportUrl', () => {
  const options = readVectors('vectors/url_query_options') as { query: string; option: string }[];
  for (const { query, option } of options) {
    it(`hands the option of "?${query}" to the driver as text (CORE-09)`, () => {
      const values = query
        .split('&')
        .map((item) => item.split('='))
        .filter(([name, value]) => name === option && value !== '')
        .map(([, value]) => value);
      const read = TransportUrl.parse(`rabbit://host/?${query}`).query.get(option);
      expect(read).to.equal(values.length === 0 ? undefined : values.join(','));
    });
  }

  it('reads IPv6 addresses with a zone, and writes them by RFC 6874', () => {
    for (const text of ['rabbit://[fe80::1%25eth0]:1/v', 'rabbit://[fe80::1%eth0]:1/v']) {
      const url = TransportUrl.parse(text);
      expect(url.hosts[0]?.hostname).to.equal('fe80::1%eth0');
      expect(url.format()).to.equal('rabbit://[fe80::1%25eth0]:1/v');
    }
  });

  it('keeps a zone that looks like a percent-encoded "%"', () => {
    const url = TransportUrl.of({ scheme: 'rabbit', hosts: [{ hostname: 'fe80::1%25' }] });
    expect(url.format()).to.equal('rabbit://[fe80::1%2525]');
    expect(TransportUrl.parse(url.format()).hosts[0]?.hostname).to.equal('fe80::1%25');
  });

  it('keeps the whole scheme and the case of everything else', () => {
    const url = TransportUrl.parse('Redis+Sentinel://H1,H2/Name');
    expect(fieldsOf(url)).to.include({ transport: 'redis+sentinel', virtual_host: 'Name' });
    expect(url.hosts.map((host) => host.hostname)).to.deep.equal(['H1', 'H2']);
  });

  it('decodes once only (CORE-08)', () => {
    const url = TransportUrl.parse('rabbit://u%2540:p%252F@h/v%2541?a=%2525');
    expect(url.hosts[0]?.username).to.equal('u%40');
    expect(url.hosts[0]?.password).to.equal('p%2F');
    expect(url.virtualHost).to.equal('v%41');
    expect(url.query.get('a')).to.equal('%25');
  });

  it('reads "+" in the query as a blank, as Python does, and elsewhere as itself', () => {
    const url = TransportUrl.parse('rabbit://u+v:p+q@h/v+w?a=b+c%2Bd');
    expect(fieldsOf(url)).to.deep.include({ virtual_host: 'v+w', query: { a: 'b c+d' } });
    expect(url.hosts[0]?.password).to.equal('p+q');
  });

  const ambiguous: [string, string][] = [
    ['a "/" in a password', 'rabbit://user:12/sEcReT@host/v'],
    ['a "?" in a password', 'rabbit://user:12?sEcReT@host/v'],
    ['a "#" in a password', 'rabbit://user:12#sEcReT@host/v'],
    ['a "@" in a password', 'rabbit://user:12@sEcReT@host/v'],
    ['a comma in a password', 'rabbit://user:12,sEcReT@host/v'],
    ['a bracket in a password', 'rabbit://user:12[sEcReT@host/v'],
    ['a "%" in a password', 'rabbit://user:12%sEcReT@host/v'],
    ['invalid UTF-8 in a password', 'rabbit://user:sEcReT%ff@host/v'],
    ['a blank in a password', 'rabbit://user:12 sEcReT@host/v'],
    ['a newline at the end', 'rabbit://user:sEcReT@host/v\n'],
    ['a blank at the begin', ' rabbit://user:sEcReT@host/v'],
    ['no scheme', 'user:sEcReT@host'],
    ['no scheme, but slashes', '//user:sEcReT@host/v'],
    ['one slash', 'rabbit:/user:sEcReT@host/v'],
    ['no slashes', 'rabbit:user:sEcReT@host/v'],
    ['no host', 'rabbit://user:sEcReT@/v'],
    ['a port of letters', 'rabbit://user:sEcReT/v'],
    ['a port of 0', 'rabbit://user:sEcReT@host:0/v'],
    ['a port too large', 'rabbit://user:sEcReT@host:65536/v'],
    ['a negative port', 'rabbit://user:sEcReT@host:-5/v'],
    ['a port with a sign', 'rabbit://user:sEcReT@host:+5/v'],
    ['a port only', 'rabbit://:5672/v'],
    ['IPv6 without brackets', 'rabbit://user:sEcReT@::1/v'],
    ['an IPv4 address in brackets', 'rabbit://user:sEcReT@[127.0.0.1]/v'],
    ['an open bracket', 'rabbit://user:sEcReT@[::1/v'],
    ['a zone that is "25" or nothing', 'rabbit://user:sEcReT@[fe80::1%25]/v'],
    ['a percent sign in a host name', 'rabbit://user:sEcReT@ho%73t/v'],
    ['a backslash in a host name', 'rabbit://user:sEcReT@ho\\st/v'],
    ['an option without "="', 'rabbit://user:sEcReT@host/v?ssl'],
    ['an option without a name', 'rabbit://user:sEcReT@host/v?=sEcReT'],
    ['a broken escape in the query', 'rabbit://host/v?password=sEcReT%f'],
    ['a broken escape in the virtual host', 'rabbit://user:sEcReT@host/%zz'],
  ];
  for (const [name, text] of ambiguous) {
    it(`refuses ${name}, and does not repeat it (CORE-08, SEC-04)`, () => {
      const error = refusalOf(() => TransportUrl.parse(text));
      expect(`${error.message} ${inspect(error)} ${error.stack ?? ''}`).not.to.match(/sEcReT|user:/);
      expect(error.cause).to.equal(undefined);
    });
  }

  it('refuses what is no text', () => {
    expect(() => TransportUrl.parse(undefined as unknown as string)).to.throw(
      InvalidTransportUrlError,
      /not undefined/,
    );
  });

  it('prints no secret, whatever prints it (SEC-04)', () => {
    const url = TransportUrl.parse(
      'rabbit://us%40er:sEcReT@h1,u2:sEcReT@[::1]:2/v?password=sEcReT&api_key=sEcReT&ssl=1',
    );
    const printed = [
      url.toString(),
      String(url),
      JSON.stringify({ url }),
      inspect({ url }, { depth: 9, showHidden: true }),
      inspect(url.hosts, { depth: 9, showHidden: true }),
      JSON.stringify(url.hosts),
      String(url.hosts[0]),
      inspect(Object.assign({}, url.hosts[0])),
      inspect(url.query),
      JSON.stringify(url.query),
      inspect(Object.assign({}, url), { depth: 9 }),
    ];
    expect(printed.filter((text) => text.includes('sEcReT'))).to.deep.equal([]);
    expect(url.toString()).to.equal(
      'rabbit://us%40er:***@h1,u2:***@[::1]:2/v?password=***&api_key=***&ssl=1',
    );
    expect(inspect(url)).to.equal(`<TransportUrl ${url.toString()}>`);
    expect(url.format()).to.contain('sEcReT');
  });

  it('is made of parts', () => {
    const url = TransportUrl.of({
      scheme: 'rabbit',
      hosts: [{ hostname: 'h', port: 5672, username: 'u', password: '/@:' }, { hostname: '::1' }],
      virtualHost: '/',
      query: { ssl: 'true', empty: '' },
    });
    expect(url.format()).to.equal('rabbit://u:%2F%40%3A@h:5672,[::1]//?ssl=true');
    expect(TransportUrl.of({ scheme: 'memory' }).format()).to.equal('memory://');
    expect(TransportUrl.of({ scheme: 'redis', hosts: [{ hostname: 'h', password: 'p' }] }).format()).to.equal(
      'redis://:p@h',
    );
  });

  const impossible: [string, TransportUrlParts][] = [
    ['a scheme with a colon', { scheme: 'a:b' }],
    ['an empty scheme', { scheme: '' }],
    ['an empty host name', { scheme: 'rabbit', hosts: [{ hostname: '' }] }],
    ['a host name with a slash', { scheme: 'rabbit', hosts: [{ hostname: 'a/b' }] }],
    ['a host name in brackets', { scheme: 'rabbit', hosts: [{ hostname: '[::1]' }] }],
    ['a port that is no whole number', { scheme: 'rabbit', hosts: [{ hostname: 'h', port: 1.5 }] }],
    [
      'a lone surrogate in a password',
      { scheme: 'rabbit', hosts: [{ hostname: 'h', username: 'u', password: '\ud800' }] },
    ],
    ['a lone surrogate in the virtual host', { scheme: 'rabbit', virtualHost: '\udfff' }],
    [
      'a password that is a number',
      { scheme: 'rabbit', hosts: [{ hostname: 'h', password: 5 as unknown as string }] },
    ],
    ['an option without a name', { scheme: 'rabbit', query: { '': 'x' } }],
    ['an option that is a number', { scheme: 'rabbit', query: { x: 5 as unknown as string } }],
    [
      'credentials after a host without',
      { scheme: 'rabbit', hosts: [{ hostname: 'a' }, { hostname: 'b', username: 'u' }] },
    ],
  ];
  for (const [name, parts] of impossible) {
    it(`is not made of ${name} (CORE-08)`, () => {
      expect(() => TransportUrl.of(parts)).to.throw(InvalidTransportUrlError);
    });
  }

  it('can be had with other parts', () => {
    const url = TransportUrl.parse('rabbit://u:p@h/v?a=1');
    expect(url.with({ query: { b: '2' } }).format()).to.equal('rabbit://u:p@h/v?b=2');
    expect(url.with({ virtualHost: undefined, scheme: 'amqp' }).format()).to.equal('amqp://u:p@h?a=1');
    expect(url.format()).to.equal('rabbit://u:p@h/v?a=1');
  });

  it('is equal to one that differs in options only', () => {
    const url = TransportUrl.parse('rabbit://u:p@h1,h2:2/v?a=1');
    expect(url.equals(TransportUrl.parse('RABBIT://u:%70@h1,h2:2/v'))).to.equal(true);
    for (const other of [
      'amqp://u:p@h1,h2:2/v',
      'rabbit://u:q@h1,h2:2/v',
      'rabbit://u:p@h1/v',
      'rabbit://u:p@h1,h2:2',
    ]) {
      expect(url.equals(TransportUrl.parse(other)), other).to.equal(false);
    }
    expect(TransportUrl.parse('rabbit://h').equals(TransportUrl.parse('rabbit://h/'))).to.equal(false);
  });

  it('tells that some hosts have credentials and some have none', () => {
    expect(TransportUrl.parse('rabbit://u:p@h1,h2').hasMixedCredentials).to.equal(true);
    expect(TransportUrl.parse('rabbit://u:p@h1,u:p@h2').hasMixedCredentials).to.equal(false);
    expect(TransportUrl.parse('rabbit://h1,h2').hasMixedCredentials).to.equal(false);
    expect(TransportUrl.parse('rabbit://').hasMixedCredentials).to.equal(false);
  });

  it('keeps options named like members of objects as options (SEC-06)', () => {
    const url = TransportUrl.parse('rabbit://h/?__proto__=x&constructor=y');
    expect([...url.query]).to.deep.equal([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});
