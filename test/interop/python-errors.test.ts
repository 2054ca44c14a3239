import { Target } from '@ebbgate/core';
import { RemoteError } from '@ebbgate/rpc';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import type { OsloPeer } from '../support/rigs/python-oslo.js';
import { Live, OutOfStock, pythonCall, pythonError, PythonLibraryError, PythonValueError } from './live.js';

describe('errors between Python and ours', function () {
  this.timeout(60_000);
  let live: Live;
  let python: OsloPeer;
  let caller: OsloPeer;

  before(async () => {
    live = await Live.start();
    [python, caller] = await Promise.all([live.python(), live.python()]);
    await live.serve({ topic: 'ours', server: 'js' }, new Target());
    await python.send({ command: 'start_server', topic: 'theirs', server: 'py' });
  });

  after(() => live.close());

  function theirsFails(type: string, ...args: unknown[]): Promise<Error> {
    return rejectionOf(live.client({ topic: 'theirs' }).call({}, 'fail', { type, args }));
  }

  async function oursFails(type: string, text: string): ReturnType<typeof pythonError> {
    return pythonError(pythonCall(caller, { topic: 'ours', method: 'fail', args: { type, text } }));
  }

  it('of Python are rebuilt where their type is registered, and TypeError always (W10, RPC-16)', async () => {
    const value = await theirsFails('ValueError', 'bad', 3);
    expect(value).to.be.instanceOf(PythonValueError).with.property('message', "('bad', 3)");
    expect(await theirsFails('TypeError', 'wrong'))
      .to.be.instanceOf(TypeError)
      .with.property('message', 'wrong');
    const library = await theirsFails('oslo_messaging.exceptions.MessagingException', 'library');
    expect(library).to.be.instanceOf(PythonLibraryError).with.property('message', 'library');
  });

  it('of Python that nobody registered keep type, module, text and trace (RPC-16)', async () => {
    const key = await theirsFails('KeyError', 'missing');
    expect(key).to.be.instanceOf(RemoteError).and.to.include({
      remoteType: 'KeyError',
      remoteModule: 'builtins',
      remoteMessage: "'missing'",
      code: 'ERR_REMOTE',
    });
    expect(key instanceof RemoteError && key.remoteTrace.at(-1)).to.equal("KeyError: 'missing'\n");
    const own = await theirsFails('PeerError', 'own');
    expect(own).to.include({ remoteType: 'PeerError', remoteMessage: 'own' });
  });

  it('of ours are built-in ones in Python where it has them (W10, W16, RPC-16)', async () => {
    const types: [string, string][] = [
      ['TypeError', 'TypeError'],
      ['RangeError', 'ValueError'],
      ['Error', 'RuntimeError'],
    ];
    for (const [ours, theirs] of types) {
      const error = await oursFails(ours, 'tell me ä');
      expect([error.type, error.module]).to.deep.equal([theirs, 'builtins']);
      expect(error.args[0]).to.match(/^tell me ä\n/);
    }
    const expected = await pythonError(
      pythonCall(caller, { topic: 'ours', method: 'expected', args: { text: 'no' } }),
    );
    expect(expected.type).to.equal('ValueError');
  });

  it('of ours are rebuilt in Python under a registered name of an allowed module, others are RemoteError (RPC-16)', async () => {
    const allowed = await oursFails('PythonLibraryError', 'known');
    expect([allowed.type, allowed.module]).to.deep.equal([
      'MessagingException_Remote',
      'oslo_messaging.exceptions_Remote',
    ]);
    expect(allowed.mro).to.include('MessagingException');
    const other = await oursFails('OutOfStock', 'empty');
    expect(other.type).to.equal('RemoteError');
    expect(other.message).to.match(/^Remote error: OutOfStock empty\n/);
  });

  it('pass two hops: ours to Python to ours (RPC-16)', async () => {
    const nested = (type: string): Promise<Error> =>
      rejectionOf(
        live
          .client({ topic: 'theirs' })
          .call({}, 'nested', { topic: 'ours', then: 'fail', args: { type, text: 'deep' } }),
      );
    const value = await nested('RangeError');
    expect(value).to.be.instanceOf(PythonValueError);
    expect(value.message).to.match(/^deep\n/); // a built-in exception takes Python's trace into its text on its way
    const library = await nested('PythonLibraryError');
    expect(library).to.be.instanceOf(PythonLibraryError);
    expect(library.message).to.match(/^deep\n?/);
    const unknown = await nested('OutOfStock');
    expect(unknown).to.not.be.instanceOf(OutOfStock);
    expect(unknown).to.include({ code: 'ERR_REMOTE', remoteType: 'RemoteError' });
    expect(unknown.message).to.contain('OutOfStock deep');
  });

  it('pass two hops: Python to ours to Python (RPC-16)', async () => {
    const nested = (type: string): ReturnType<typeof pythonError> =>
      pythonError(
        pythonCall(caller, {
          topic: 'ours',
          method: 'nested',
          args: { topic: 'theirs', then: 'fail', args: { type, args: ['deep'] } },
        }),
      );
    const key = await nested('KeyError');
    expect([key.type, key.module]).to.deep.equal(['KeyError', 'builtins']);
    const value = await nested('ValueError');
    expect([value.type, value.module]).to.deep.equal(['ValueError', 'builtins']);
    expect(value.args[0]).to.match(/^deep\n/);
    const library = await nested('oslo_messaging.exceptions.MessagingException');
    expect(library.type).to.equal('MessagingException_Remote');
    const own = await nested('PeerError');
    expect(own.type).to.equal('RemoteError');
    expect(own.message).to.match(/^Remote error: PeerError deep/);
  });

  it('of a result that is no JSON are told to Python (W22, RPC-17)', async () => {
    const error = await pythonError(
      pythonCall(caller, {
        topic: 'ours',
        method: 'nested',
        args: { topic: 'theirs', then: 'add', args: { a: 1.7e308, b: 1.7e308 } },
      }),
    );
    expect(error.type).to.equal('RemoteError');
    expect(error.message).to.match(/SerializationError.*NaN and the infinities/);
  });
});
