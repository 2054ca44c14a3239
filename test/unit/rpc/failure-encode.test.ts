import { MessagingError, MessagingTimeoutError } from '@ebbgate/core';
import { NoSuchMethodError, UnsupportedVersionError } from '#rpc/errors.js';
import { ExpectedException } from '#rpc/expected-exceptions.js';
import { encodeFailure, type WireFailure } from '#rpc/failure.js';
import { RemoteErrorRegistry } from '#rpc/remote-error-registry.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';

class QuotaError extends Error {
  readonly code = 'QUOTA';
  readonly limit = 7;
}

const wireName = (thrown: unknown): string => {
  const failure = encodeFailure(thrown);
  return `${failure.module}.${failure.class}`;
};

/** What a failure needs on the wire: all six members, texts and lists where they belong, and nothing but JSON. */
function expectWhole(failure: WireFailure): void {
  expect(failure).to.include.all.keys('class', 'module', 'message', 'tb', 'args', 'kwargs');
  for (const text of [failure.class, failure.module, failure.message]) expect(text).to.be.a('string');
  for (const line of failure.tb) expect(line).to.be.a('string').that.matches(/\n$/);
  expect(JSON.parse(JSON.stringify(failure))).to.deep.equal(failure);
}

describe('an error on the wire', () => {
  it('has the Python name of plain errors, and our module for all others (RPC-16)', () => {
    class MyTypeError extends TypeError {}
    class Named extends Error {
      override name = 'Custom';
    }
    expect(wireName(new TypeError('m'))).to.equal('builtins.TypeError');
    expect(wireName(new RangeError('m'))).to.equal('builtins.ValueError');
    expect(wireName(new Error('m'))).to.equal('builtins.RuntimeError');
    expect(wireName(new SyntaxError('m'))).to.equal('ebbgate.SyntaxError');
    expect(wireName(new QuotaError('m'))).to.equal('ebbgate.QuotaError');
    expect(wireName(new MyTypeError('m'))).to.equal('ebbgate.MyTypeError');
    expect(wireName(new Named('m'))).to.equal('ebbgate.Custom');
    expect(wireName(new MessagingTimeoutError('m'))).to.equal('ebbgate.MessagingTimeoutError');
  });

  it('has the names of oslo.messaging for what its dispatcher has too', () => {
    expect(wireName(new NoSuchMethodError('m'))).to.equal('oslo_messaging.rpc.dispatcher.NoSuchMethod');
    expect(wireName(new UnsupportedVersionError('2.0'))).to.equal(
      'oslo_messaging.rpc.dispatcher.UnsupportedVersion',
    );
  });

  it('has the name of its class when that extends our family without a kind of its own', () => {
    class DiskFull extends MessagingError {}
    expect(wireName(new DiskFull('full'))).to.equal('ebbgate.DiskFull');
  });

  it('has the name it is registered under, so that Python can rebuild it', () => {
    const registry = new RemoteErrorRegistry().register(QuotaError, {
      module: 'nova.exception',
      name: 'OverQuota',
    });
    expect(encodeFailure(new QuotaError('m'), { registry })).to.include({
      module: 'nova.exception',
      class: 'OverQuota',
    });
    expect(encodeFailure(new TypeError('m'), { registry })).to.include({
      module: 'builtins',
      class: 'TypeError',
    });
  });

  it('has all members, and keeps name, code and data for our own side (RPC-16)', () => {
    const failure = encodeFailure(new QuotaError('over quota'));
    expectWhole(failure);
    expect(failure).to.deep.equal({
      class: 'QuotaError',
      module: 'ebbgate',
      message: 'over quota',
      tb: ['QuotaError: over quota\n'],
      args: ['over quota'],
      kwargs: {},
      ebbgate: { name: 'QuotaError', code: 'QUOTA', data: { limit: 7 } },
    });
  });

  it('is that of the original when it was expected', () => {
    expect(wireName(new ExpectedException(new QuotaError('m')))).to.equal('ebbgate.QuotaError');
  });

  it('leaves out members that cannot be sent, and getters', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const error = Object.assign(new QuotaError('m'), {
      good: [1, { deep: true }],
      run: () => 1,
      symbol: Symbol('s'),
      infinite: Infinity,
      cyclic,
      none: undefined,
    });
    Object.defineProperty(error, 'trap', {
      enumerable: true,
      get: () => expect.fail('a getter was invoked'),
    });
    expect(encodeFailure(error)['ebbgate']).to.deep.equal({
      name: 'QuotaError',
      code: 'QUOTA',
      data: { limit: 7, good: [1, { deep: true }] },
    });
  });

  it('has plain kwargs', () => {
    expect(encodeFailure(Object.assign(new Error('m'), { kwargs: { name: 'w1' } })).kwargs).to.deep.equal({
      name: 'w1',
    });
    for (const kwargs of ['text', 5, null, ['list'], () => 1]) {
      expect(encodeFailure(Object.assign(new Error('m'), { kwargs })).kwargs).to.deep.equal({});
    }
  });

  it('keeps its stack at home unless asked, and tells of causes', () => {
    const error = new QuotaError('outer', { cause: new TypeError('inner', { cause: 'text' }) });
    const caused = '\nThe above exception was the direct cause of the following exception:\n\n';
    expect(encodeFailure(error).tb).to.deep.equal([
      'Error: text\n',
      caused,
      'TypeError: inner\n',
      caused,
      'QuotaError: outer\n',
    ]);
    const { tb } = encodeFailure(error, { trace: true });
    expect(tb.filter((line) => line.startsWith('    at ')).join('')).to.include('failure-encode.test');
    expect(tb.at(-1)).to.equal('QuotaError: outer\n');
  });

  it('has no secrets in message, trace and members (SEC-04)', () => {
    const url = 'rabbit://user:hunter2@host/';
    const error = Object.assign(new Error(`cannot reach ${url}`, { cause: new Error('password=hunter2') }), {
      url,
      options: { password: 'hunter2', nested: [url] },
      token: 'hunter2',
      kwargs: { secret: 'hunter2' },
    });
    const text = JSON.stringify(encodeFailure(error, { trace: true }));
    expect(text).not.to.include('hunter2');
    expect(text).to.include('rabbit://***@host/');
  });

  it('is bounded, whatever the error says', () => {
    const long = 'x'.repeat(1_000_000);
    const failure = encodeFailure(new Error(long, { cause: new Error(long) }), { trace: true });
    expectWhole(failure);
    expect(failure.message)
      .to.have.lengthOf.below(66_000)
      .and.match(/… \(\d+ characters more\)$/);
    expect(failure.tb.join('')).to.have.lengthOf.below(66_000);
    const deep = new Error('m');
    deep.stack = `Error: m\n${'    at f (file.js:1:1)\n'.repeat(5000)}`;
    expect(encodeFailure(deep, { trace: true }).tb).to.have.lengthOf(100);
  });

  // A search that goes back over the text takes many seconds here, not the milliseconds that it should.
  it('takes linear time for long texts of any kind', () => {
    for (const piece of ['a.', 'a://', 'token ', 'token="', 'a://b@']) {
      expectWhole(encodeFailure(new Error(piece.repeat(200_000))));
    }
  });

  it('exists for whatever is thrown', () => {
    for (const thrown of [
      'text',
      undefined,
      null,
      5,
      5n,
      Symbol('s'),
      true,
      {},
      [],
      () => 1,
      Object.create(null),
    ]) {
      const failure = encodeFailure(thrown);
      expectWhole(failure);
      expect(failure).to.include({ class: 'RuntimeError', module: 'builtins' });
    }
    expect(encodeFailure('text').message).to.equal('text');
    expect(encodeFailure({ password: 'hunter2' }).message).to.equal('A value of type object was thrown');
  });

  it('exists for hostile errors', () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const cyclic = new Error('m');
    cyclic.cause = cyclic;
    const made = new Error('m');
    expect(made.stack).to.include('Error: m'); // it is made when first read, and would fail on the getters
    const getters = Object.defineProperties(made, {
      name: { get: boom },
      message: { get: boom },
      stack: { get: boom },
      cause: { get: boom },
      code: { get: boom },
      constructor: { get: boom },
      kwargs: { get: boom },
      data: { get: boom, enumerable: true },
    });
    const odd = Object.assign(new Error('m'), {
      name: 5,
      message: {},
      stack: 7,
      cause: 0,
      constructor: null,
      kwargs: { run: boom },
    });
    const traps = {
      get: boom,
      getPrototypeOf: boom,
      ownKeys: boom,
      has: boom,
      getOwnPropertyDescriptor: boom,
    };
    for (const error of [
      cyclic,
      getters,
      odd,
      new Proxy(new Error('m'), traps),
      new Proxy(new Error('m'), { ownKeys: boom }),
    ]) {
      expectWhole(encodeFailure(error, { trace: true }));
    }
  });

  it('exists for errors with any members', () => {
    fc.assert(
      fc.property(fc.anything(), fc.dictionary(fc.string(), fc.anything()), (message, members) => {
        const error = Object.defineProperties(new Error('m'), Object.getOwnPropertyDescriptors(members));
        error.cause = message;
        expectWhole(encodeFailure(error, { trace: true }));
      }),
    );
  });
});
