import { deepStrictEqual } from 'node:assert';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { MessagingError } from '#core/errors.js';
import type { TransportHostParts } from '#core/transport-host.js';
import { TransportUrl } from '#core/transport-url.js';

/** Any characters, those that mean something in a URL more often. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...Array.from('/@:%[],?#&=+ ;\\é日😀\0\n%2F*')), maxLength: 12 }),
);
const hostname = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('abz09-._é')), minLength: 1, maxLength: 12 }),
  fc.ipV4(),
  fc.ipV6().filter((address) => !address.includes('%')),
  fc.constantFrom('fe80::1%eth0', '::', '::ffff:1.2.3.4'),
);
const port = fc.option(fc.integer({ min: 1, max: 65535 }), { nil: undefined });
const withCredentials = fc.record({
  hostname,
  port,
  username: text,
  password: fc.option(text, { nil: undefined }),
});
const withoutCredentials = fc.record({ hostname, port });
const parts = fc
  .record({
    scheme: fc.constantFrom('rabbit', 'memory', 'redis+sentinel', 'a1.b-c'),
    first: fc.array(withCredentials, { maxLength: 3 }),
    last: fc.array(withoutCredentials, { maxLength: 3 }),
    virtualHost: fc.option(text, { nil: undefined }),
    query: fc.array(
      fc.tuple(
        text.filter((name) => name !== ''),
        text,
      ),
      { maxLength: 4 },
    ),
  })
  .map(({ first, last, query, ...rest }) => ({ ...rest, hosts: [...first, ...last], query: new Map(query) }));

function fields(url: TransportUrl): object {
  return {
    scheme: url.scheme,
    hosts: url.hosts.map(({ hostname, port, username, password }) => ({
      hostname,
      port,
      username,
      password,
    })),
    virtualHost: url.virtualHost,
    query: [...url.query],
  };
}

describe('TransportUrl, for any characters', () => {
  it('is read as it was formatted (CORE-08)', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const url = TransportUrl.of(given);
        const read = TransportUrl.parse(url.format());
        deepStrictEqual(fields(read), fields(url));
        expect(read.equals(url)).to.equal(true);
        expect(read.format()).to.equal(url.format());
      }),
    );
  });

  it('keeps each part as it was given (CORE-08)', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const url = TransportUrl.of(given);
        expect(url.virtualHost).to.equal(given.virtualHost);
        for (const [index, host] of given.hosts.entries()) {
          const own: TransportHostParts = host;
          expect(url.hosts[index]?.hostname).to.equal(own.hostname);
          expect(url.hosts[index]?.username).to.equal(own.username);
          expect(url.hosts[index]?.password).to.equal(own.password);
        }
        deepStrictEqual(
          [...url.query],
          [...given.query].filter(([, value]) => value !== ''),
        );
      }),
    );
  });

  it('is formatted as it was read, once it was read (CORE-08)', () => {
    const anyUrl = fc
      .string({ unit: fc.constantFrom(...Array.from('ab1:/@,[]%2?=&')), maxLength: 20 })
      .map((rest) => `rabbit://${rest}`);
    fc.assert(
      fc.property(anyUrl, (given) => {
        let url: TransportUrl;
        try {
          url = TransportUrl.parse(given);
        } catch (error) {
          expect(error).to.have.property('code', 'ERR_INVALID_TRANSPORT_URL');
          return;
        }
        deepStrictEqual(fields(TransportUrl.parse(url.format())), fields(url));
      }),
    );
  });

  it('is refused without a word of it (SEC-04)', () => {
    const secret = fc.string({
      unit: fc.constantFrom(...Array.from('QXZ0/@:%[],?#& ')),
      minLength: 6,
      maxLength: 14,
    });
    fc.assert(
      fc.property(secret, fc.constantFrom('rabbit://user:', 'rabbit:', 'user:', ''), (password, before) => {
        try {
          TransportUrl.parse(`${before}${password}@host/v`);
        } catch (error) {
          const { message, cause } = error as MessagingError; // whatever it is, it must not hold the secret
          expect(error).to.be.instanceOf(MessagingError);
          expect(message).not.to.match(/QX|QZ|XQ|XZ|ZQ|ZX|Q0|X0|Z0|user:/);
          expect(message).not.to.contain(password);
          expect(cause).to.equal(undefined);
        }
      }),
    );
  });
});
