import { Target } from '@ebbgate/core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import type { OsloPeer } from '../support/rigs/python-oslo.js';
import { LIMIT_MS, Live, type OurEndpoint, pythonCall, pythonError } from './live.js';

const FALSY = [0, false, '', [], {}, null, 'null', [null]];
const TEXT = 'café 日本 😀 \u0000 \u2028 " / \\ \t';
const LARGE = 'x'.repeat(1_000_000);

describe('calls between Python and ours', function () {
  this.timeout(60_000);
  let live: Live;
  let python: OsloPeer;
  let caller: OsloPeer;
  let ours: OurEndpoint;

  before(async () => {
    live = await Live.start();
    [python, caller] = await Promise.all([live.python(), live.python()]);
    ({ endpoint: ours } = await live.serve({ topic: 'ours', server: 'js' }, new Target()));
    await live.serve({ topic: 'shared', server: 'js' }, new Target());
    await live.serve(
      { topic: 'versions-ours', server: 'js' },
      new Target({ namespace: 'n', version: '1.3' }),
    );
    const servers = [
      { topic: 'theirs', server: 'py' },
      { topic: 'shared', server: 'py', name: 'shared' },
      { topic: 'versions-theirs', server: 'py', name: 'v', endpoints: [{ namespace: 'n', version: '1.3' }] },
    ];
    for (const one of servers) await python.send({ command: 'start_server', ...one });
  });

  after(() => live.close());

  it('carry results both ways, falsy ones too (RPC-05)', async () => {
    const theirs = live.client({ topic: 'theirs' });
    for (const value of FALSY) {
      expect(await pythonCall(caller, { topic: 'ours', method: 'value', args: { value } })).to.deep.equal(
        value,
      );
      expect(await theirs.call({}, 'echo', { value })).to.deep.equal({ value });
      expect(await theirs.call({}, 'slow', { seconds: 0, value })).to.deep.equal(value);
    }
    expect(await theirs.prepare({ server: 'py' }).call({}, 'add', { a: 2, b: 3 })).to.equal(5);
    expect(
      await pythonCall(caller, { topic: 'ours', server: 'js', method: 'add', args: { a: 2, b: 3 } }),
    ).to.equal(5);
  });

  it('carry text of every kind, a megabyte, and casts to one server', async () => {
    const theirs = live.client({ topic: 'theirs' });
    expect(await theirs.call({}, 'echo', { [TEXT]: TEXT })).to.deep.equal({ [TEXT]: TEXT });
    expect(await pythonCall(caller, { topic: 'ours', method: 'echo', args: { value: TEXT } })).to.deep.equal({
      value: TEXT,
    });
    expect(await theirs.call({}, 'echo', { LARGE })).to.deep.equal({ LARGE });
    expect(await pythonCall(caller, { topic: 'ours', method: 'value', args: { value: LARGE } })).to.equal(
      LARGE,
    );
    await theirs.prepare({ server: 'py' }).cast({}, 'hold', { key: 'cast', value: 1 });
    expect((await within('the cast', LIMIT_MS, python.handling('hold'))).args).to.deep.equal({
      key: 'cast',
      value: 1,
    });
    await python.send({ command: 'release', key: 'cast' });
    await caller.send({
      command: 'cast',
      topic: 'ours',
      server: 'js',
      method: 'echo',
      args: { how: 'cast' },
    });
    await eventually('the cast', LIMIT_MS, () => ours.handled.some(({ args }) => args['how'] === 'cast'));
  });

  it('carry integers of any size exactly, and read what is no number (W14)', async () => {
    const theirs = live.client({ topic: 'theirs' });
    const large = 2n ** 70n;
    expect(await theirs.call({}, 'add', { a: large, b: 1n })).to.equal(large + 1n);
    expect(await theirs.call({}, 'add', { a: 1.7e308, b: 1.7e308 })).to.equal(Infinity); // bare on the wire
    const nested = { topic: 'theirs', then: 'add', args: { a: Number.MAX_SAFE_INTEGER, b: 2 } };
    expect(await live.client({ topic: 'ours' }).call({}, 'nested', nested)).to.equal(2n ** 53n + 1n);
    const refused = rejectionOf(theirs.call({}, 'add', { a: NaN, b: 1 }));
    expect(await refused).to.include({ code: 'ERR_SERIALIZATION' }); // W14: never sent
  });

  it('carry contexts both ways; only Python adds to them (W8)', async () => {
    const context = { user_id: 'u', roles: ['a', 'b'], nested: { k: 1 }, none: null, is_admin: true };
    const atTheirs = await live.client({ topic: 'theirs' }).call(context, 'context');
    expect(atTheirs).to.deep.equal({ ...context, client_timeout: null });
    expect(await pythonCall(caller, { topic: 'ours', method: 'context', context })).to.deep.equal(context);
  });

  it('share the load of one topic, whoever calls', async () => {
    const client = live.client({ topic: 'shared' });
    const seen = await Promise.all([
      ...Array.from({ length: 20 }, () => client.call({}, 'who')),
      ...Array.from({ length: 20 }, () => pythonCall(caller, { topic: 'shared', method: 'who' })),
    ]);
    const count = (name: string): number => seen.filter((one) => one === name).length;
    expect(count('js') + count('py')).to.equal(40);
    expect(count('js')).to.be.greaterThan(5);
    expect(count('py')).to.be.greaterThan(5);
  });

  it('fan out to both, from both', async () => {
    const { endpoint } = await live.serve({ topic: 'all', server: 'js' }, new Target());
    await python.send({ command: 'start_server', topic: 'all', server: 'py', name: 'all' });
    const reached = async (how: string): Promise<void> => {
      await eventually('both', LIMIT_MS, () => {
        const atTheirs = python.handled.some(({ topic, args }) => topic === 'all' && args['how'] === how);
        return atTheirs && endpoint.handled.some(({ args }) => args['how'] === how);
      });
    };
    await live.client({ topic: 'all', fanout: true }).cast({}, 'echo', { how: 'ours' });
    await reached('ours');
    await caller.send({ command: 'fanout', topic: 'all', method: 'echo', args: { how: 'theirs' } });
    await reached('theirs');
    const times = (how: string): number => endpoint.handled.filter(({ args }) => args['how'] === how).length;
    expect([times('ours'), times('theirs')]).to.deep.equal([1, 1]);
  });

  it('answer a ping both ways', async () => {
    const method = 'oslo_rpc_server_ping';
    expect(await live.client({ topic: 'theirs' }).call({}, method)).to.equal('pong');
    expect(await pythonCall(caller, { topic: 'ours', method })).to.equal('pong');
  });

  it('refuse versions, namespaces and methods alike, and say so alike (W17, RPC-12, RPC-14)', async () => {
    const wrong = [
      {
        version: '1.4',
        namespace: 'n',
        method: 'who',
        code: 'ERR_UNSUPPORTED_VERSION',
        type: 'UnsupportedVersion',
      },
      {
        version: '2.0',
        namespace: 'n',
        method: 'who',
        code: 'ERR_UNSUPPORTED_VERSION',
        type: 'UnsupportedVersion',
      },
      {
        version: '1.0',
        namespace: 'other',
        method: 'who',
        code: 'ERR_UNSUPPORTED_VERSION',
        type: 'UnsupportedVersion',
      },
      { version: '1.0', namespace: 'n', method: 'nope', code: 'ERR_NO_SUCH_METHOD', type: 'NoSuchMethod' },
      { version: '1.0', namespace: 'n', method: '_tell', code: 'ERR_NO_SUCH_METHOD', type: 'NoSuchMethod' },
    ];
    for (const { version, namespace, method, code, type } of wrong) {
      const theirs = live.client({ topic: 'versions-theirs', version, namespace });
      expect(
        await rejectionOf(theirs.call({}, method)),
        JSON.stringify({ version, namespace, method }),
      ).to.include({ code });
      const error = await pythonError(
        pythonCall(caller, { topic: 'versions-ours', version, namespace, method }),
      );
      expect(error.type).to.equal(`${type}_Remote`);
    }
    const right = { version: '1.2', namespace: 'n' };
    expect(await live.client({ topic: 'versions-theirs', ...right }).call({}, 'who')).to.equal('py');
    expect(await pythonCall(caller, { topic: 'versions-ours', method: 'who', ...right })).to.equal('js');
  });

  it('tell the sender of a queue that was never there, each in its own way (W1, AMQP-33)', async () => {
    const nobody = live.client({ topic: 'nobody' });
    expect(await rejectionOf(nobody.call({}, 'm'))).to.include({ code: 'ERR_UNDELIVERABLE' });
    const silent = nobody.prepare({ transportOptions: { atLeastOnce: false }, timeoutMs: 200 });
    expect(await rejectionOf(silent.call({}, 'm'))).to.include({ code: 'ERR_TIMEOUT' });
    const asked = pythonCall(caller, { topic: 'nobody', method: 'm', at_least_once: true });
    expect((await pythonError(asked)).type).to.equal('MessageUndeliverable');
  });
});
