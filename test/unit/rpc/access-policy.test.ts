import { RequestContext, Target } from '@ebbgate/core';
import { defaultAccessPolicy, explicitAccessPolicy, expose, legacyAccessPolicy } from '#rpc/access-policy.js';
import { collectMethods } from '#rpc/endpoint-methods.js';
import { ExpectedException, expectedExceptions, unwrapExpected } from '#rpc/expected-exceptions.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';

class Base {
  inherited(): string {
    return 'inherited';
  }

  shadowed(): string {
    return 'base';
  }
}

class Endpoint extends Base {
  readonly target = new Target({ version: '1.1' });
  readonly data = 7;
  readonly Model = Base;
  readonly own = (): string => 'own';
  invoked = false;

  get trap(): () => string {
    this.invoked = true;
    return () => 'trap';
  }

  greet(_context: RequestContext, { name }: { name: string }): string {
    return `${this.#greeting} ${name}`;
  }

  _private(): string {
    return 'private';
  }

  readonly #greeting = 'hello';
}

// A getter that hides an inherited method hides it from callers too.
Object.defineProperty(Endpoint.prototype, 'shadowed', { get: () => () => 'getter' });

const names = (endpoint: object, policy = defaultAccessPolicy): string[] =>
  [...collectMethods(endpoint, policy).keys()].sort();

describe('the methods of an endpoint', () => {
  it('are its functions, own and inherited, without reserved, private and inherited-from-Object names (SEC-02)', () => {
    expect(names(new Endpoint())).to.deep.equal(['greet', 'inherited', 'own']);
  });

  it('never are what getters give, and no getter is invoked (SEC-02)', () => {
    const endpoint = new Endpoint();
    expect(names(endpoint, legacyAccessPolicy)).not.to.include.members(['trap', 'shadowed']);
    expect(endpoint.invoked).to.equal(false);
  });

  it('are bound to their endpoint', () => {
    const greet = collectMethods(new Endpoint(), defaultAccessPolicy).get('greet');
    expect(greet?.(new RequestContext(), { name: 'you' })).to.equal('hello you');
  });

  it('of a plain object, with or without a prototype, are found too', () => {
    expect(names({ ping: () => 'pong' })).to.deep.equal(['ping']);
    expect(names(Object.setPrototypeOf({ ping: () => 'pong' }, null) as object)).to.deep.equal(['ping']);
  });

  it('never are constructor, __proto__ or what every object has, under any policy (SEC-02)', () => {
    for (const policy of [legacyAccessPolicy, defaultAccessPolicy]) {
      const found = collectMethods(new Endpoint(), policy);
      for (const name of [
        'constructor',
        '__proto__',
        'toString',
        'hasOwnProperty',
        '__defineGetter__',
        'target',
        'Model',
      ]) {
        expect(found.has(name), name).to.equal(false);
      }
    }
  });

  it('may be called toString when the endpoint itself says so', () => {
    expect(names({ toString: () => 'mine' })).to.deep.equal(['toString']);
  });

  it('begin with an underscore only under the legacy policy (SEC-02)', () => {
    expect(names(new Endpoint(), legacyAccessPolicy)).to.include('_private');
    expect(names(new Endpoint())).not.to.include('_private');
  });

  it('are under the explicit policy only those that are marked or listed (SEC-02)', () => {
    class Marked {
      static {
        expose(Marked.prototype.open);
      }

      readonly exposed = ['listed'];
      readonly arrow = expose(() => 'arrow');

      open(): string {
        return 'open';
      }

      listed(): string {
        return 'listed';
      }

      closed(): string {
        return 'closed';
      }
    }
    expect(names(new Marked(), explicitAccessPolicy)).to.deep.equal(['arrow', 'listed', 'open']);
    expect(names(new Endpoint(), explicitAccessPolicy)).to.deep.equal([]);
  });

  it('cannot be marked unless they are functions', () => {
    expect(() => expose('ping' as unknown as () => void)).to.throw(TypeError, 'expose takes a function');
  });
});

describe('reserved attributes of an endpoint (RPC-15)', () => {
  class Compute {
    readonly target: unknown;
    readonly exposed: unknown;

    constructor(target: unknown, exposed?: unknown) {
      this.target = target;
      this.exposed = exposed;
    }

    ping(): string {
      return 'pong';
    }
  }

  it('may be absent or right', () => {
    for (const target of [undefined, null, new Target({})])
      expect(names(new Compute(target, ['ping']))).to.deep.equal(['ping']);
  });

  it('name the endpoint when target is no Target', () => {
    for (const target of ['compute', 0, {}, () => 'a method', { version: '1.0' }]) {
      expect(() => names(new Compute(target))).to.throw(
        TypeError,
        /"target" of endpoint Compute is reserved: it must be a Target/,
      );
    }
  });

  it('name the endpoint when exposed is no list of its methods', () => {
    for (const exposed of ['ping', [1], {}, () => 'a method']) {
      expect(() => names(new Compute(undefined, exposed))).to.throw(
        TypeError,
        /"exposed" of endpoint Compute .* array of method names/,
      );
    }
    expect(() => names(new Compute(undefined, ['pong']))).to.throw(
      TypeError,
      '"pong", which is none of its methods',
    );
  });

  it('cannot even be looked at on a class, or on what is no object', () => {
    expect(() => names(Endpoint)).to.throw(TypeError, 'give an instance (new Endpoint())');
    for (const none of [null, undefined, 'text', 1])
      expect(() => names(none as unknown as object)).to.throw(TypeError, 'An endpoint is an object');
  });
});

describe('expected exceptions', () => {
  class NotFound extends Error {}
  class Gone extends NotFound {}

  const thrown = (method: () => unknown): unknown => {
    try {
      return method();
    } catch (error) {
      return error;
    }
  };

  it('are marked when a method throws them or a subclass, and keep the original', () => {
    const error = new Gone('gone');
    const seen = thrown(
      expectedExceptions([NotFound], () => {
        throw error;
      }),
    );
    expect(seen).to.be.instanceOf(ExpectedException);
    expect(unwrapExpected(seen)).to.deep.equal({ error, expected: true });
  });

  it('leave other errors alone', () => {
    const error = new TypeError('a fault');
    const seen = thrown(
      expectedExceptions([NotFound], () => {
        throw error;
      }),
    );
    expect(seen).to.equal(error);
    expect(unwrapExpected(seen)).to.deep.equal({ error, expected: false });
  });

  it('are marked when a promise rejects with them', async () => {
    const error = new NotFound('none');
    const method = expectedExceptions([NotFound], async () => Promise.reject(error));
    const seen = await method().catch((caught: unknown) => caught);
    expect(unwrapExpected(seen)).to.deep.equal({ error, expected: true });
  });

  it('pass results, arguments and this', async () => {
    const holder = {
      base: 1,
      add: expectedExceptions([NotFound], function (this: { base: number }, more: number) {
        return this.base + more;
      }),
      later: expectedExceptions([NotFound], async (more: number) => Promise.resolve(more)),
    };
    expect(holder.add(2)).to.equal(3);
    expect(await holder.later(2)).to.equal(2);
  });

  it('need classes', () => {
    expect(() => expectedExceptions([undefined as unknown as typeof NotFound], () => 1)).to.throw(
      TypeError,
      'array of error classes',
    );
  });
});
