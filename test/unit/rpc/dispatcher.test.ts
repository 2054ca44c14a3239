import { Target } from '@ebbgate/core';
import { legacyAccessPolicy, NoSuchMethodError, RpcDispatcher, UnsupportedVersionError } from '@ebbgate/rpc';
import { RequestContext } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';

/** The rows of `call_namespace_version` and of `wire.md` 5.5: [namespace, version, method, what answers]. */
type Row = readonly [string | null, string | undefined, string, string];

const ENDPOINTS: readonly object[] = [
  { m: () => 'null 1.0', only: () => 'only' },
  { target: new Target({ version: '1.5' }), m: () => 'null 1.5', newer: () => 'newer' },
  { target: new Target({ namespace: 'ns', version: '2.3' }), m: () => 'ns 2.3', _hidden: () => 'hidden' },
  {
    target: new Target({ namespace: 'ns2', version: '1.0', legacyNamespaces: ['ns', null] }),
    m: () => 'ns2 1.0',
  },
];

const TABLE: readonly Row[] = [
  [null, undefined, 'm', 'null 1.0'],
  [null, '1.0', 'm', 'null 1.0'],
  [null, '1.3', 'm', 'null 1.5'],
  [null, '1.5', 'newer', 'newer'],
  [null, undefined, 'newer', 'newer'],
  [null, '1.0.0', 'only', 'only'],
  [null, '1.5.1', 'm', 'UnsupportedVersionError'],
  [null, '1.6', 'm', 'UnsupportedVersionError'],
  [null, '2.0', 'm', 'UnsupportedVersionError'],
  [null, '1.3', 'only', 'NoSuchMethodError'],
  [null, undefined, 'nope', 'NoSuchMethodError'],
  ['ns', '2.0', 'm', 'ns 2.3'],
  ['ns', '2.3', '_hidden', 'NoSuchMethodError'],
  ['ns', undefined, 'm', 'ns2 1.0'],
  ['ns2', undefined, 'm', 'ns2 1.0'],
  ['other', undefined, 'm', 'UnsupportedVersionError'],
  ['', undefined, 'm', 'UnsupportedVersionError'],
  [null, '1', 'm', 'UnsupportedVersionError'],
  [null, 'x.y', 'm', 'UnsupportedVersionError'],
  [null, '', 'm', 'UnsupportedVersionError'],
  [null, 'null', 'm', 'UnsupportedVersionError'],
];

function outcome(dispatcher: RpcDispatcher, [namespace, version, method]: Row): unknown {
  try {
    return dispatcher.find({ namespace, version, method })(new RequestContext(), {});
  } catch (error) {
    return (error as Error).name;
  }
}

describe('RpcDispatcher', () => {
  for (const row of TABLE) {
    const [namespace, version, method, expected] = row;
    it(`gives ${expected} for ${method} of ${String(namespace)}, version ${String(version)} (RPC-12, RPC-14)`, () => {
      expect(outcome(new RpcDispatcher(ENDPOINTS), row)).to.equal(expected);
    });
  }

  it('asks endpoints in their order, and the first that has the method answers', () => {
    const both = [{ m: () => 'first' }, { m: () => 'second' }];
    expect(outcome(new RpcDispatcher(both), [null, undefined, 'm', ''])).to.equal('first');
    expect(outcome(new RpcDispatcher([{}, ...both]), [null, undefined, 'm', ''])).to.equal('first');
    expect(outcome(new RpcDispatcher([]), [null, undefined, 'm', ''])).to.equal('UnsupportedVersionError');
  });

  it('calls methods bound to their endpoint, inherited ones too, and never getters', () => {
    class Base {
      name = 'base';
      hello(): string {
        return `hello from ${this.name}`;
      }
    }
    class Derived extends Base {
      override name = 'derived';
      get trap(): () => string {
        throw new Error('a getter was invoked');
      }
    }
    const dispatcher = new RpcDispatcher([new Derived()]);
    expect(outcome(dispatcher, [null, undefined, 'hello', ''])).to.equal('hello from derived');
    expect(outcome(dispatcher, [null, undefined, 'trap', ''])).to.equal('NoSuchMethodError');
  });

  it('finds nothing by the names of what every object has, not even when all is allowed (SEC-02, SEC-06)', () => {
    const dispatcher = new RpcDispatcher([{ m: () => 1 }], legacyAccessPolicy);
    for (const name of [
      'constructor',
      '__proto__',
      'toString',
      'hasOwnProperty',
      'valueOf',
      '__defineGetter__',
    ]) {
      expect(outcome(dispatcher, [null, undefined, name, '']), name).to.equal('NoSuchMethodError');
    }
  });

  it('is not changed by what is done to an endpoint later', () => {
    const endpoint: Record<string, unknown> = { m: () => 'then' };
    const dispatcher = new RpcDispatcher([endpoint]);
    endpoint['m'] = () => 'now';
    endpoint['added'] = () => 'added';
    expect(outcome(dispatcher, [null, undefined, 'm', ''])).to.equal('then');
    expect(outcome(dispatcher, [null, undefined, 'added', ''])).to.equal('NoSuchMethodError');
    expect([dispatcher.has('m'), dispatcher.has('added')]).to.deep.equal([true, false]);
  });

  it('puts into its errors what was asked for', () => {
    const dispatcher = new RpcDispatcher(ENDPOINTS);
    expect(() => dispatcher.find({ namespace: null, version: '1.0', method: 'x' }))
      .to.throw(NoSuchMethodError, 'Endpoint does not support RPC method x')
      .with.property('method', 'x');
    expect(() => dispatcher.find({ namespace: null, version: '9.1', method: 'x' }))
      .to.throw(UnsupportedVersionError, 'Endpoint does not support RPC version 9.1. Attempted method: x')
      .with.property('version', '9.1');
  });
});
