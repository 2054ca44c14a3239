import { TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readOptions } from '#driver-amqp/option-table.js';
import { readSettings } from '#driver-amqp/options.js';
import type { RabbitOptions } from '#driver-amqp/rabbit-options.js';
import { readVectors } from '../../support/vectors.js';

interface OptionVector {
  readonly query: string;
  readonly option: keyof RabbitOptions;
  readonly result?: unknown;
  readonly error?: string;
}

interface UrlVector {
  readonly url: string;
  readonly amqp?: { readonly result?: readonly string[] };
}

/** `amqp://user:password@host:port/virtual-host`, as kombu is given it: only user and password are encoded, in part. */
const ADDRESS = /^amqp:\/\/([^:]*):(.*)@(\[.*\]|[^:]*):(\d+)\/(.*)$/;

/** What kombu makes of such an address: nothing given is guest/guest, an empty virtual host is `/`. */
function meaning(address: string): object {
  const [, user = '', password = '', host = '', port = '', path = ''] = ADDRESS.exec(address) ?? [];
  const none = user === '' && password === '';
  return {
    username: none ? 'guest' : decodeURIComponent(user),
    password: none ? 'guest' : decodeURIComponent(password),
    hostname: host.replace(/^\[|\]$/g, ''),
    port: Number(port),
    virtualHost: path === '' ? '/' : path,
  };
}

/** Refused by the URL itself, or with an option that is none: `docs/decisions/0002-transport-url.md`. */
const NOT_OURS = new Set([
  'rabbit://host:/v',
  'rabbit://u:p@/v',
  'rabbit://u@x:p@host/v',
  'rabbit://u:p@q@host/v',
  'rabbit://host/v#frag',
  'rabbit://host/v?a=1&b=2&a=3',
  'rabbit://host?x=y',
]);

describe("the options of a URL, against oslo.messaging's own tables", () => {
  for (const { query, option, ...expected } of readVectors(
    'head/vectors/url_query_options',
  ) as OptionVector[]) {
    const outcome = 'error' in expected ? 'is refused' : `is ${JSON.stringify(expected.result)}`;
    it(`"${query}" ${outcome} (CORE-09)`, () => {
      const url = TransportUrl.parse(`rabbit://h/?${query}`);
      const read = (): unknown => readOptions({}, url.query).values[option];
      if (!('error' in expected)) {
        expect(read()).to.equal(expected.result);
        return;
      }
      const named = /^[a-z_]+/.exec(query)?.[0] ?? '?';
      expect(read)
        .to.throw()
        .that.includes({ code: 'ERR_CONFIGURATION' })
        .and.has.property('message')
        .that.includes(named);
    });
  }
});

describe("the hosts of a URL, against oslo.messaging's own tables", () => {
  for (const table of ['vectors/transport_urls', 'head/vectors/transport_urls']) {
    for (const { url, amqp } of readVectors(table) as UrlVector[]) {
      if (!amqp?.result || NOT_OURS.has(url)) continue;
      const expected = amqp.result.map(meaning);
      it(`${table}: "${url}" goes to the same broker as the same user (CORE-08)`, () => {
        const { hosts, virtualHost } = readSettings(TransportUrl.parse(url), {});
        const found = hosts.map(({ hostname, port, username, password }) => ({
          username,
          password,
          hostname,
          port,
          virtualHost,
        }));
        expect(found).to.deep.equal(expected);
      });
    }
  }

  it('covers the tables: what is left out is what the URL refuses, or holds options that are none (CORE-08)', () => {
    const left = (readVectors('vectors/transport_urls') as UrlVector[])
      .filter(({ url, amqp }) => amqp?.result && NOT_OURS.has(url))
      .map(({ url }) => url);
    for (const url of left) {
      expect(() => readSettings(TransportUrl.parse(url), {}), url)
        .to.throw()
        .with.property('code')
        .that.matches(/^ERR_(INVALID_TRANSPORT_URL|CONFIGURATION)$/);
    }
    expect(left).to.have.lengthOf(NOT_OURS.size - 1); // 14 cannot connect to one of them either
  });
});
