import { readFileSync } from 'node:fs';
import {
  BackpressureError,
  ConfigurationError,
  InvalidTargetError,
  MessageDeliveryError,
  MessagingError,
  MessagingTimeoutError,
  SerializationError,
  ServerWaitTimeoutError,
} from '@ebbgate/core';
import {
  DrainingError,
  NoSuchMethodError,
  RemoteError,
  RpcVersionCapError,
  UnsupportedVersionError,
  ValidationError,
} from '#rpc/errors.js';
import { decodeFailure, encodeFailure, remoteOrigin } from '#rpc/failure.js';
import { RemoteErrorRegistry } from '#rpc/remote-error-registry.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';

class QuotaError extends Error {
  readonly code: string = 'QUOTA';
  limit: number | undefined;
}

/** Over the wire and back. */
const arrive = (error: unknown, registry?: RemoteErrorRegistry): Error =>
  decodeFailure(JSON.stringify(encodeFailure(error)), registry);

/** What an error holds, for comparing. */
const held = (error: object): object => ({ ...error, message: (error as Error).message });

interface Recorded {
  readonly case: string;
  readonly failure: unknown;
  readonly python?: { readonly type: string; readonly str: string };
}

const file = new URL('../../../../test/fixtures/oslo/failures.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[]; // recorded, of this shape

describe('failures that oslo.messaging sends or reads', () => {
  class QuotaExceeded extends Error {
    readonly quota: unknown;

    constructor(message: string, quota: unknown) {
      super(message);
      this.quota = quota;
    }
  }

  const registry = new RemoteErrorRegistry().register(QuotaExceeded, {
    module: 'remote_errors',
    build: ({ args }) => new QuotaExceeded(args[0] as string, args[1]),
  });

  /** Where Python raises a builtin or fails to read, a caller here gets a RemoteError; and dispatcher errors are ours. */
  const expected = new Map<string, string>([
    ['failure of an allowed module', 'QuotaExceeded'],
    ['failure of oslo_messaging itself', 'UnsupportedVersionError'],
    ['call_exception_allowed: QuotaExceeded', 'QuotaExceeded'],
    ['call_exception_not_allowed: QuotaExceeded', 'QuotaExceeded'],
    ['call_namespace_version: UnsupportedVersion', 'UnsupportedVersionError'],
    ['call_namespace_version: NoSuchMethod', 'NoSuchMethodError'],
    ['call_private_method: NoSuchMethod', 'NoSuchMethodError'],
  ]);

  for (const [index, { case: title, failure }] of recorded.entries()) {
    const type = expected.get(title) ?? 'RemoteError';
    it(`${String(index)}: ${title} becomes ${type} (RPC-16, SEC-01)`, () => {
      const error = decodeFailure(failure, registry);
      expect(error).to.be.instanceOf(Error);
      expect(error instanceof MessagingError ? error.name : error.constructor.name).to.equal(type);
      expect(remoteOrigin(error)).to.include.all.keys(
        'remoteType',
        'remoteModule',
        'remoteMessage',
        'remoteTrace',
      );
    });
  }

  it('name type, module, message and trace', () => {
    const failure = recorded.find((one) => one.case === 'failure ValueError')?.failure;
    const error = decodeFailure(failure);
    expect(error).to.be.instanceOf(RemoteError);
    expect(error).to.deep.include({
      message: 'Remote error: ValueError m',
      code: 'ERR_REMOTE',
      outcome: 'answered',
      remoteType: 'ValueError',
      remoteModule: 'builtins',
      remoteMessage: 'm',
      remoteTrace: ['line1\n', 'line2\n'],
    });
  });

  it('give the arguments of Python to the one who builds', () => {
    const failure = recorded.find((one) => one.case === 'call_exception_allowed: QuotaExceeded')?.failure;
    expect(decodeFailure(failure, registry)).to.deep.include({ message: "('over quota', 7)", quota: 7 });
  });

  it('tell method and version of dispatcher errors', () => {
    const module = 'oslo_messaging.rpc.dispatcher';
    const decode = (name: string, message: string): Error => decodeFailure({ class: name, module, message });
    expect(decode('NoSuchMethod', 'Endpoint does not support RPC method who')).to.include({
      method: 'who',
      code: 'ERR_NO_SUCH_METHOD',
    });
    const text = 'Endpoint does not support RPC version 1.6. Attempted method: who';
    expect(decode('UnsupportedVersion', text)).to.include({ version: '1.6', method: 'who', message: text });
    expect(decode('UnsupportedVersion', 'Endpoint does not support RPC version 9')).to.include({
      version: '9',
      method: undefined,
    });
  });

  it('take the builtins of Python 2, and TypeError as what it is', () => {
    expect(decodeFailure({ class: 'TypeError', module: 'exceptions', message: 'm' })).to.be.instanceOf(
      TypeError,
    );
    expect(decodeFailure({ class: 'TypeError', module: 'builtins', message: 'm' })).to.be.instanceOf(
      TypeError,
    );
  });

  it('lose the suffix _Remote, if both names have it', () => {
    const failure = {
      class: 'QuotaExceeded_Remote',
      module: 'remote_errors_Remote',
      message: 'm',
      args: ['m', 3],
    };
    expect(decodeFailure(failure, registry)).to.be.instanceOf(QuotaExceeded);
    expect(decodeFailure({ ...failure, module: 'remote_errors' }, registry)).to.include({
      remoteType: 'QuotaExceeded_Remote',
    });
  });
});

describe('an error that arrives', () => {
  it('is a RemoteError with its type, message and trace when it is not registered (RPC-16)', () => {
    const error = arrive(Object.assign(new QuotaError('over'), { limit: 7 }));
    expect(error).to.be.instanceOf(RemoteError).with.property('message', 'Remote error: QuotaError over');
    expect(error).to.deep.include({
      remoteType: 'QuotaError',
      remoteModule: 'ebbgate',
      remoteTrace: ['QuotaError: over\n'],
    });
    expect(arrive(new Error('plain'))).to.include({ remoteType: 'Error', remoteMessage: 'plain' });
  });

  it('has its own type with message, code and data when it is registered (RPC-16)', () => {
    const error = arrive(
      Object.assign(new QuotaError('over'), { limit: 7, more: { a: [1] } }),
      new RemoteErrorRegistry([QuotaError]),
    );
    expect(error).to.be.instanceOf(QuotaError);
    expect(error).to.deep.include({ message: 'over', code: 'QUOTA', limit: 7, more: { a: [1] } });
  });

  it('is found by the name of its class when it calls itself something else', () => {
    class Custom extends Error {
      override name = 'custom_error';
    }
    expect(arrive(new Custom('m'), new RemoteErrorRegistry([Custom]))).to.be.instanceOf(Custom);
  });

  it('has its own type when it is TypeError or RangeError, with code and data (RPC-16)', () => {
    const error = arrive(Object.assign(new TypeError('m'), { code: 'ERR_INVALID_ARG_TYPE', argument: 'id' }));
    expect(error)
      .to.be.instanceOf(TypeError)
      .and.include({ message: 'm', code: 'ERR_INVALID_ARG_TYPE', argument: 'id' });
    expect(arrive(new RangeError('r')))
      .to.be.instanceOf(RangeError)
      .with.property('message', 'r');
  });

  it('of our own family keeps type, message, code and members, and was answered (RPC-16)', () => {
    const errors = [
      new MessagingError('m', { code: 'ERR_CUSTOM' }),
      new MessagingTimeoutError('m'),
      new MessageDeliveryError('m', { outcome: 'unknown' }),
      new BackpressureError('m'),
      new ConfigurationError('m'),
      new DrainingError('m'),
      new InvalidTargetError('m', new URL('a://b')),
      new SerializationError('m', { path: 'args.disk[3]' }),
      new ServerWaitTimeoutError('m', { running: 2, released: 3 }),
      new NoSuchMethodError('get'),
      new UnsupportedVersionError('2.0', 'get', { reason: 'why' }),
      new RpcVersionCapError('1.5', '1.2'),
      new ValidationError('get', [{ path: 'id', message: 'expected text' }], { part: 'result' }),
      Object.assign(new MessagingTimeoutError('m'), { attempts: 3 }),
    ];
    for (const sent of errors) {
      const error = arrive(sent);
      expect(error.constructor, sent.name).to.equal(sent.constructor);
      expect(held(error), sent.name).to.deep.equal({
        ...held(sent),
        outcome: 'answered',
      });
    }
  });

  it('tells a time-out at the peer from one of our own', () => {
    const error = arrive(new MessagingTimeoutError('inner'));
    expect(error).to.include({ code: 'ERR_TIMEOUT', outcome: 'answered' });
    expect(remoteOrigin(error)).to.include({ remoteType: 'MessagingTimeoutError', remoteMessage: 'inner' });
    expect(remoteOrigin(new MessagingTimeoutError('ours'))).to.equal(undefined);
  });

  it('is the same over several hops, also through peers that do not know its type (RPC-16)', () => {
    const registry = new RemoteErrorRegistry([QuotaError]);
    const sent = Object.assign(new QuotaError('over'), { limit: 7 });
    const direct = arrive(sent, registry);
    const byStrangers = arrive(arrive(arrive(sent)), registry);
    const byFriends = arrive(arrive(sent, registry), registry);
    for (const error of [byStrangers, byFriends]) {
      expect(error).to.be.instanceOf(QuotaError);
      expect(held(error)).to.deep.equal(held(direct));
      expect(remoteOrigin(error)).to.deep.equal(remoteOrigin(direct));
    }
    const python = { class: 'E', module: 'a.b', message: 'm', tb: ['t\n'], args: [1], kwargs: { k: 2 } };
    expect(encodeFailure(decodeFailure(python))).to.deep.equal(python);
  });

  it('keeps what it says when a RemoteError is made by hand', () => {
    const made = new RemoteError({
      remoteType: 'E',
      remoteModule: 'a.b',
      remoteMessage: 'm',
      remoteTrace: ['t\n'],
    });
    expect(arrive(made)).to.deep.include({
      remoteType: 'E',
      remoteModule: 'a.b',
      remoteMessage: 'm',
      remoteTrace: ['t\n'],
    });
  });

  it('has no secrets in it (SEC-04)', () => {
    const error = decodeFailure({
      class: 'E',
      module: 'a',
      message: 'rabbit://u:hunter2@h',
      tb: ['password=hunter2\n'],
    });
    expect(JSON.stringify(held(error))).not.to.include('hunter2');
  });
});

describe('what a hostile peer can do with a failure (SEC-01)', () => {
  const registry = new RemoteErrorRegistry([QuotaError]);
  const own = (name: string, code: string | undefined, data: unknown): unknown => ({
    class: name,
    module: 'ebbgate',
    message: 'm',
    ebbgate: { name, code, data },
  });

  it('is not to have a name looked up', () => {
    for (const name of [
      'constructor',
      '__proto__',
      'toString',
      'Object',
      'Function',
      'process',
      'Map',
      'hasOwnProperty',
    ]) {
      for (const module of ['ebbgate', 'builtins', '__proto__', 'constructor', 'globalThis', 'node:fs']) {
        const error = decodeFailure({ class: name, module, message: 'm', ebbgate: { name } }, registry);
        expect(error, `${module}.${name}`).to.be.instanceOf(RemoteError);
      }
    }
  });

  it('is not to replace what a class defines, nor a prototype (SEC-06)', () => {
    const data = JSON.parse(
      '{"__proto__": {"polluted": 1}, "constructor": 1, "toString": 1, "stack": "s", "name": "n", "message": "other", "cause": 1, "limit": 7}',
    ) as unknown;
    const error = decodeFailure(own('QuotaError', 'QUOTA', data), registry);
    expect(Object.getPrototypeOf(error)).to.equal(QuotaError.prototype);
    expect(error).to.include({ limit: 7, message: 'm', name: 'Error' });
    expect(String(error)).to.equal('Error: m');
    expect(error.cause).to.equal(undefined);
    expect((error as { polluted?: unknown }).polluted).to.equal(undefined);
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
  });

  it('is not to give the members of our own types another shape', () => {
    expect(
      decodeFailure(own('ValidationError', 'ERR_VALIDATION', { method: 5, issues: 'none', extra: 1 })),
    ).to.deep.include({
      method: '',
      issues: [],
      extra: 1,
    });
    expect(
      decodeFailure(own('ValidationError', 'ERR_VALIDATION', { issues: [null, { path: 1 }, 'x'] })),
    ).to.deep.include({
      issues: [{ path: '', message: '' }],
    });
    expect(decodeFailure(own('NoSuchMethodError', 'ERR_NO_SUCH_METHOD', null))).to.include({
      method: '',
      message: 'm',
    });
    expect(decodeFailure(own('ServerWaitTimeoutError', 'ERR_WAIT_TIMEOUT', { running: {} }))).to.include({
      running: 0,
    });
  });

  it('is not to use a name of ours with another code', () => {
    expect(decodeFailure(own('MessagingTimeoutError', 'ERR_OTHER', {}))).to.be.instanceOf(RemoteError);
    expect(decodeFailure(own('MessagingTimeoutError', undefined, {}))).to.be.instanceOf(RemoteError);
  });

  it('is a RemoteError at worst, never an exception of the reader', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.json(), fc.string()), (value) => {
        expect(decodeFailure(value, registry)).to.be.instanceOf(RemoteError);
      }),
    );
    const member = fc.oneof(fc.string(), fc.jsonValue());
    const shape = fc.record(
      {
        class: member,
        module: member,
        message: member,
        tb: member,
        args: member,
        kwargs: member,
        ebbgate: fc.record({ name: member, code: member, data: member }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(shape, (value) => {
        const error = decodeFailure(JSON.stringify(value), registry);
        expect(error).to.be.instanceOf(Error);
        expect(encodeFailure(error)).to.include.all.keys(
          'class',
          'module',
          'message',
          'tb',
          'args',
          'kwargs',
        );
      }),
    );
  });

  it('is told that it cannot be read', () => {
    expect(decodeFailure('Traceback …').message).to.include('cannot be read: not the JSON of an object');
    expect(decodeFailure(5).message).to.include('cannot be read: number');
  });
});

describe('the registry of remote errors', () => {
  it('refuses what is no class of errors, and a name that is taken', () => {
    class Other extends Error {}
    expect(() => new RemoteErrorRegistry([Map as unknown as typeof QuotaError])).to.throw(
      TypeError,
      'a class that extends Error',
    );
    const registry = new RemoteErrorRegistry([QuotaError]);
    expect(() => registry.register(Other, { name: 'QuotaError' })).to.throw(
      TypeError,
      'Another error type is registered as ebbgate.QuotaError',
    );
    expect(registry.register(QuotaError)).to.equal(registry);
  });

  it('falls back to RemoteError when a type cannot be built', () => {
    class Picky extends Error {
      constructor(options: { text: string }) {
        super(options.text.trim());
      }
    }
    const picky = Picky as unknown as new (message: string) => Error;
    const failure = { class: 'Picky', module: 'ebbgate', message: 'm' };
    expect(decodeFailure(failure, new RemoteErrorRegistry([picky]))).to.include({
      remoteType: 'Picky',
      remoteMessage: 'm',
    });
    const nothing = new RemoteErrorRegistry().register(Picky, { build: () => 'text' as unknown as Error });
    expect(decodeFailure(failure, nothing)).to.be.instanceOf(RemoteError);
  });

  it('may replace a type of our own', () => {
    const registry = new RemoteErrorRegistry().register(QuotaError, {
      name: 'TypeError',
      module: 'builtins',
    });
    expect(arrive(new TypeError('m'), registry)).to.be.instanceOf(QuotaError);
  });
});
