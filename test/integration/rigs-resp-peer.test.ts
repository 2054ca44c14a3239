import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { within } from '../support/rigs/deadline.js';
import { RedisProcess } from '../support/rigs/redis-process.js';
import { RespPeer } from '../support/rigs/resp-peer.js';
import { readCommand, respBytes, RespSplitter } from '../support/rigs/resp-values.js';

const LIMIT_MS = 3_000;

describe('the scripted RESP peer', function () {
  this.timeout(30_000);
  let peer: RespPeer;
  const undo: (() => unknown)[] = [];

  beforeEach(async () => {
    peer = await RespPeer.start();
  });

  afterEach(async () => {
    for (const one of undo.splice(0).reverse()) await one();
    await peer.close();
  });

  function open(options: RedisOptions = {}, port = peer.port): Redis {
    const client = new Redis({ port, retryStrategy: () => null, ...options });
    client.on('error', () => {}); // what asks is told
    undo.push(() => client.disconnect());
    return client;
  }

  it('cuts a stream into values wherever it is broken, of RESP2 and RESP3', () => {
    const values = [
      respBytes(null, 2),
      respBytes(null, 3),
      respBytes(['a\r\n', 1, [], [null, Buffer.from([0, 255])]], 2),
      respBytes(new Map([['name', ['x', new Map([['inner', 7]])]]]), 3),
      respBytes({ error: 'ERR no' }, 3),
      Buffer.from('>2\r\n+message\r\n$-1\r\n'),
      Buffer.from('=7\r\ntxt:abc\r\n'),
    ];
    const all = Buffer.concat(values);
    for (const size of [1, 2, 3, 7, all.length]) {
      const splitter = new RespSplitter();
      const found: Buffer[] = [];
      for (let at = 0; at < all.length; at += size) found.push(...splitter.take(all.subarray(at, at + size)));
      expect(found.map(String), `${size} bytes at a time`).to.deep.equal(values.map(String));
    }
    expect(readCommand(respBytes(['SET', '', 'a\r\nb'], 2)).map(String)).to.deep.equal(['SET', '', 'a\r\nb']);
    expect(() => readCommand(Buffer.from('PING\r\n'))).to.throw('No command');
  });

  for (const protocol of [2, 3] as const) {
    it(`lets clients of RESP${String(protocol)} in, answers as if all were well, and notes what came`, async () => {
      const client = open({ protocol, username: 'u', password: 'p', connectionName: 'me' });
      expect(await client.ping()).to.equal('PONG');
      expect(await client.info()).to.contain('redis_version:7.0.15');
      expect(await client.config('GET', 'maxmemory-policy')).to.deep.equal([
        'maxmemory-policy',
        'noeviction',
      ]);
      expect(await client.xadd('s', '*', 'f', 'v')).to.match(/^\d+-\d+$/);
      expect(await client.get('nothing')).to.equal(null);
      expect(await client.client('ID')).to.equal(1);
      expect((await rejectionOf(client.call('NOSUCH'))).message).to.contain('unknown command');
      expect(peer.received('XADD').map(({ text }) => text)).to.deep.equal(['XADD s * f v']);
      const names = peer.commands.map(({ name }) => name);
      expect(names).to.include(protocol === 3 ? 'HELLO' : 'AUTH');
      expect(peer.connections.map((each) => each.protocol)).to.deep.equal([protocol]);
    });
  }

  it('fails a command with any text, once or from now on until told otherwise', async () => {
    const client = open();
    const end = peer.script('XADD', (command) => command.fail('OOM command not allowed'));
    expect((await rejectionOf(client.xadd('s', '*', 'f', 'v'))).message).to.equal('OOM command not allowed');
    end();
    peer.scriptOnce('XADD', (command) => command.fail("READONLY You can't write"));
    expect((await rejectionOf(client.xadd('s', '*', 'f', 'v'))).message).to.match(/^READONLY/);
    expect(await client.xadd('s', '*', 'f', 'v')).to.be.a('string');
  });

  it('answers late, in the order of the commands, or never', async () => {
    const client = open();
    peer.scriptOnce('GET', () => {});
    const late = client.get('a');
    const behind = client.ping();
    const silent = await peer.next('GET');
    await peer.next('PING');
    expect(await Promise.race([late, behind, open().ping('another')])).to.equal('another');
    silent.answer('at last');
    expect(await Promise.all([late, behind])).to.deep.equal(['at last', 'PONG']);
  });

  it('gives half an answer, nonsense, and cuts', async () => {
    const deeds: readonly ((command: Parameters<Parameters<RespPeer['scriptOnce']>[1]>[0]) => void)[] = [
      (command) => {
        command.answerRaw('$10\r\nhalf');
        command.connection.cut('fin');
      },
      (command) => command.answerRaw('nonsense\r\n'),
      ({ connection }) => connection.cut('rst'),
    ];
    for (const deed of deeds) {
      const client = open({ maxRetriesPerRequest: 0 });
      peer.scriptOnce('GET', deed);
      await within('the failure', LIMIT_MS, rejectionOf(client.get('a')));
    }
    await Promise.all(peer.connections.map(({ closed }) => within('the end', LIMIT_MS, closed)));
  });

  it('passes on to the server behind it what no script takes, and keeps the order', async () => {
    const server = await RedisProcess.start();
    undo.push(() => server.dispose());
    const front = await RespPeer.start(server.port);
    undo.push(() => front.close());
    const client = open({}, front.port);
    await client.set('k', 'v\r\n');
    front.scriptOnce('GET', (command) => command.answer('scripted'));
    expect(await Promise.all([client.get('k'), client.get('k'), client.incr('n')])).to.deep.equal([
      'scripted',
      'v\r\n',
      1,
    ]);
    expect(await server.ask('GET', 'k')).to.equal('v\r\n');
    const subscriber = open({}, front.port);
    const heard = new Promise((resolve) => subscriber.on('message', (_channel, text) => resolve(text)));
    await within('the subscription', LIMIT_MS, subscriber.subscribe('c'));
    await client.publish('c', 'push');
    expect(await within('the message', LIMIT_MS, heard)).to.equal('push');
    await server.kill();
    await within('the end', LIMIT_MS, front.connections[0]?.closed ?? Promise.reject(new Error('none came')));
  });

  it('tells in the end what a script threw', async () => {
    const failing = await RespPeer.start();
    failing.script('GET', () => {
      throw new Error('the script');
    });
    const client = open({}, failing.port);
    void client.get('x').catch(() => undefined); // it gets no answer
    await failing.next('GET');
    expect((await rejectionOf(failing.close())).message).to.equal('the script');
  });
});
