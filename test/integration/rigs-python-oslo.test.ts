import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { within } from '../support/rigs/deadline.js';
import { OsloError, type OsloPeer, startOsloPeer } from '../support/rigs/python-oslo.js';
import { type RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const LIMIT_MS = 20_000;

describe('a Python peer with oslo.messaging', function () {
  this.timeout(60_000);
  let rabbit: RabbitNode;
  let url: string;
  let server: OsloPeer;
  let client: OsloPeer;

  before(async () => {
    rabbit = await sharedRabbit();
    url = await rabbit.vhost();
    [server, client] = await Promise.all([
      startOsloPeer(url, { defaults: { rpc_ping_enabled: true } }),
      startOsloPeer(url, {
        rabbit: { rabbit_retry_interval: 1 },
        defaults: { rpc_response_timeout: 10 },
        allowedRemoteExmods: ['oslo_messaging.rpc.dispatcher'],
      }),
    ]);
    await within(
      'the servers',
      LIMIT_MS,
      Promise.all([
        server.send({ command: 'start_server', topic: 'calc', server: 'one' }),
        server.send({
          command: 'start_server',
          topic: 'versions',
          server: 'two',
          endpoints: [{ namespace: 'n', version: '1.3' }],
        }),
      ]),
    );
  });

  after(async () => {
    await Promise.all([server.kill(), client.kill()]);
  });

  function call(
    method: string,
    args: Record<string, unknown>,
    more: Record<string, unknown> = {},
  ): Promise<unknown> {
    return within(method, LIMIT_MS, client.send({ command: 'call', topic: 'calc', method, args, ...more }));
  }

  async function failureOf(promise: Promise<unknown>): Promise<OsloError> {
    const error = await rejectionOf(promise);
    if (error instanceof OsloError) return error;
    throw error;
  }

  it('calls, casts and fans out, and tells what its servers were given', async () => {
    expect(await call('add', { a: 2, b: 3 }, { context: { user: 'u' } })).to.equal(5);
    expect(await call('echo', { deep: { list: [1, null, 'ä'] } })).to.deep.equal({
      deep: { list: [1, null, 'ä'] },
    });
    expect(await call('context', {}, { context: { request: 7 } })).to.deep.include({ request: 7 });
    expect(await call('who', {}, { server: 'one' })).to.equal('one');
    expect(await call('oslo_rpc_server_ping', {})).to.equal('pong');
    const added = await server.handling('add');
    expect(added).to.deep.include({ server: 'one', topic: 'calc', namespace: null, args: { a: 2, b: 3 } });
    expect(added.context).to.deep.include({ user: 'u' });
    await server.handling('echo');
    await client.send({ command: 'cast', topic: 'calc', method: 'echo', args: { how: 'cast' } });
    expect((await within('the cast', LIMIT_MS, server.handling('echo'))).args).to.deep.equal({ how: 'cast' });
    await client.send({ command: 'fanout', topic: 'calc', method: 'echo', args: { how: 'fanout' } });
    expect((await within('the fanout', LIMIT_MS, server.handling('echo'))).args).to.deep.equal({
      how: 'fanout',
    });
  });

  it('tells a failure by type, module, classes and text', async () => {
    const error = await failureOf(call('fail', { type: 'ValueError', args: ['bad', 3] }));
    expect([error.type, error.module, error.args[1]]).to.deep.equal(['ValueError', 'builtins', 3]);
    expect(error.args[0]).to.match(/^\('bad', 3\)\nTraceback/);
    expect(error.mro).to.deep.equal(['ValueError', 'Exception', 'BaseException', 'object']);
    const remote = await failureOf(call('fail', { type: 'PeerError', args: ['own'] }));
    expect(remote.type).to.equal('RemoteError');
    expect(remote.message).to.include('PeerError own');
    expect((await failureOf(call('expected', { text: 'no' }))).message).to.match(/^no\nTraceback/);
  });

  it('refuses namespaces, versions and methods it does not have, and caps versions', async () => {
    const versions = { topic: 'versions', namespace: 'n' };
    expect(await call('add', { a: 1, b: 1 }, { ...versions, version: '1.2' })).to.equal(2);
    const newer = await failureOf(call('add', { a: 1, b: 1 }, { ...versions, version: '1.4' }));
    expect(newer.type).to.equal('UnsupportedVersion_Remote');
    const elsewhere = await failureOf(call('add', { a: 1, b: 1 }, { topic: 'versions', namespace: 'other' }));
    expect(elsewhere.type).to.equal('UnsupportedVersion_Remote');
    expect((await failureOf(call('nothing', {}))).type).to.equal('NoSuchMethod_Remote');
    const capped = await failureOf(call('add', {}, { ...versions, version: '1.2', version_cap: '1.1' }));
    expect(capped.type).to.equal('RPCVersionCapError');
  });

  it('times out, unless the call monitor keeps it going', async () => {
    const short = await failureOf(call('hold', { key: 'a' }, { timeout: 1 }));
    expect(short.type).to.equal('MessagingTimeout');
    await server.send({ command: 'release', key: 'a' });
    const kept = call('slow', { seconds: 3, value: 'kept' }, { timeout: 20, call_monitor_timeout: 2 });
    expect(await kept).to.equal('kept');
  });

  it('calls on from a method, and holds one until released', async () => {
    const nested = { topic: 'versions', then: 'add', args: { a: 4, b: 4 }, namespace: 'n' };
    expect(await call('nested', nested)).to.equal(8);
    const held = call('hold', { key: 'b', value: 'let go' });
    await within('the hold', LIMIT_MS, server.handling('hold'));
    await server.send({ command: 'release', key: 'b' });
    expect(await held).to.equal('let go');
  });

  it('stops a server and waits for it', async () => {
    await server.send({ command: 'start_server', topic: 'brief', server: 'three' });
    const consumers = async (): Promise<string[]> => {
      const all = await rabbit.view.consumers(decodeURIComponent(new URL(url).pathname.slice(1)));
      return all.map(({ queue_name }) => queue_name);
    };
    expect(await consumers()).to.include.members(['brief', 'brief.three']);
    await within('stop', LIMIT_MS, server.send({ command: 'stop_server', name: 'three' }));
    await within('wait', LIMIT_MS, server.send({ command: 'wait_server', name: 'three' }));
    expect(await consumers()).to.not.include('brief.three');
  });

  it('says what it cannot do, and that it is gone', async () => {
    const unknown = await failureOf(server.send({ command: 'stop_server', name: 'nobody' }));
    expect(unknown.type).to.equal('KeyError');
    const brief = await startOsloPeer(url);
    const waiting = rejectionOf(
      brief.send({ command: 'call', topic: 'calc', method: 'hold', args: { key: 'c' } }),
    );
    await brief.kill();
    expect((await waiting).message).to.match(/has ended/);
    expect((await rejectionOf(brief.send({ command: 'ready' }))).message).to.match(/has ended/);
    await server.send({ command: 'release', key: 'c' });
  });
});
