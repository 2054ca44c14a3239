import { inspect } from 'node:util';
import { redactedCause, redactMembers, redactText } from '@ebbgate/core';
import { errorText } from '#core/redact.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';

describe('text without secrets', () => {
  const cases: [string, string][] = [
    ['at rabbit://user:pass@host:5672/v', 'at rabbit://***@host:5672/v'],
    ['rabbit://u1:p1@h1:1,u2:p2@h2:2/v?a=b', 'rabbit://***@h2:2/v?a=b'],
    ['redis://:pass@host', 'redis://***@host'],
    ['redis://user:p@ss@host/0', 'redis://***@host/0'],
    ['rabbit://user:pa/ss?w#rd@host/v', 'rabbit://***@host/v'],
    ['"rabbit://user:pa"ss@host"', '"rabbit://***@host"'],
    ['http://host:80/path and mail a@b.c', 'http://host:80/path and mail a@b.c'],
    ['password=hunter2&x=1', 'password=***&x=1'],
    ['{"password":"hunter2","user":"a"}', '{"password":***,"user":"a"}'],
    [String.raw`{"password":"hun\"ter2","user":"a"}`, '{"password":***,"user":"a"}'],
    ["{ apiKey: 'hunter2', n: 1 }", '{ apiKey: ***, n: 1 }'],
    ['Authorization: Bearer hunter2hunter2', 'Authorization: ***'],
    ['sasl_password: hunter2', 'sasl_password: ***'],
    ['passphrase=hunter2', 'passphrase=***'],
    ["password=''hunter2 x=1", 'password=*** x=1'],
    ["password='hunter''s 2' x=1", 'password=*** x=1'],
    ['token="a"hunter2&x=1', 'token=***&x=1'],
    ['authorization: basic hunter2"hunter2', 'authorization: ***'],
    ['{"password":"","user":"a"}', '{"password":***,"user":"a"}'],
    ['nothing to hide', 'nothing to hide'],
  ];
  for (const [text, redacted] of cases) {
    it(`makes ${redacted} of ${text} (SEC-04)`, () => {
      expect(redactText(text)).to.equal(redacted);
    });
  }

  it('holds no password of a URL, whatever is in it but white space and quotes (SEC-04)', () => {
    const odd = Array.from('/?#@:%&=[]{}|\\^~`!$*()+,;.-_äß🔑', (each) => fc.constant(each));
    const character = fc.oneof(fc.constantFrom('a', 'b', 'X', 'Y', '0', '9'), ...odd);
    const password = fc
      .array(character, { minLength: 1, maxLength: 40 })
      .map((each) => `${each.join('')}MARK`);
    fc.assert(
      fc.property(password, (secret) => {
        expect(redactText(`cannot reach rabbit://user:${secret}@host:5672/vhost now`)).to.not.include('MARK');
      }),
      { numRuns: 500 },
    );
  });

  it('has no more of a secret member to redact when it is redacted again: nothing is left over (SEC-04)', () => {
    const piece = fc.constantFrom(
      ...[
        'password',
        'token',
        '=',
        ': ',
        '"',
        "'",
        '""',
        "''",
        '\\',
        'bearer ',
        'basic ',
        'x',
        ' ',
        ',',
        ';',
        '&',
        '}',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const redacted = redactText(pieces.join(''));
        expect(redactText(redacted)).to.equal(redacted);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes no longer than the length of the text asks for, whatever text it is', () => {
    const texts = ['a://', 'a.', '://a', 'password=', 'password="', 'token: ', '@', 'bearer ', "secret:'\\"];
    for (const text of texts) {
      const long = text.repeat(Math.ceil(100_000 / text.length));
      const begin = process.cpuUsage();
      redactText(long);
      const { user } = process.cpuUsage(begin);
      expect(user / 1000, text).to.be.below(1500);
    }
  }).timeout(20_000);
});

describe('a cause of somebody else', () => {
  it('keeps name, text, code and stack, and nothing that hangs on it (SEC-04)', () => {
    class AmqpError extends Error {
      override readonly name = 'AmqpError';
      readonly code = 403;
      readonly connection = { url: 'amqp://user:s3cret@host' };
      readonly password = 's3cret';
    }
    const inner = new Error('inner amqp://user:s3cret@host', { cause: 'password=s3cret' });
    const cause = redactedCause(new AmqpError('refused amqp://user:s3cret@host', { cause: inner }));
    expect(cause).to.include({ name: 'AmqpError', message: 'refused amqp://***@host', code: 403 });
    expect(cause.stack).to.include('refused').and.include('redact.test');
    expect(cause.cause).to.have.property('message', 'inner amqp://***@host');
    expect(inspect(cause, { depth: 20, showHidden: true })).to.not.include('s3cret');
    expect(Object.keys(cause)).to.deep.equal(['code']);
  });

  it('ends where causes go round in a circle', () => {
    const one = new Error('one');
    const two = new Error('two', { cause: one });
    one.cause = two;
    expect(redactedCause(one).message).to.equal('one');
  });

  const strange: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['text with password=s3cret', 'text with password=s3cret'],
    ['an object without a prototype', Object.create(null)],
    ['a symbol', Symbol('s')],
    [
      'an error whose message throws',
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error('y');
        },
      }),
    ],
    [
      'an error whose stack throws',
      Object.defineProperty(new Error('x'), 'stack', {
        get: () => {
          throw new Error('y');
        },
      }),
    ],
    [
      'an error whose message is no text',
      Object.assign(new Error('x'), { message: { toString: () => 's' } }),
    ],
    ['an error whose name is no text', Object.assign(new Error('x'), { name: 7 })],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('y');
          },
          getPrototypeOf: () => {
            throw new Error('z');
          },
        },
      ),
    ],
  ];
  for (const [name, value] of strange) {
    it(`is made of ${name} without throwing (CORE-11)`, () => {
      const cause = redactedCause(value);
      expect(cause).to.be.instanceOf(Error);
      expect(`${cause.message} ${errorText(value)}`)
        .to.be.a('string')
        .and.not.include('s3cret');
    });
  }
});

describe('a value without secrets', () => {
  it('has other members as they were, at any depth, and is a copy (SEC-04)', () => {
    const value = {
      name: 'vm-1',
      size: 12n,
      none: null,
      admin_pass: ['s3cret'],
      list: [{ auth_token: 's3cret', url: 'rabbit://u:s3cret@host/' }, 'password=s3cret', true],
    };
    const before = structuredClone(value);
    expect(redactMembers(value)).to.deep.equal({
      name: 'vm-1',
      size: 12n,
      none: null,
      admin_pass: '***',
      list: [{ auth_token: '***', url: 'rabbit://***@host/' }, 'password=***', true],
    });
    expect(value).to.deep.equal(before);
  });

  it('has a member `__proto__` as its own (SEC-06)', () => {
    const value = JSON.parse('{"__proto__": {"secret": 1}}') as object;
    const shown = redactMembers(value as never); // plain, as it was read from JSON
    expect(Object.entries(shown as object)).to.deep.equal([['__proto__', { secret: '***' }]]);
  });
});
