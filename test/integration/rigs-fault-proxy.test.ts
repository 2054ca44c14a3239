import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { resetSocket } from '../support/rigs/reset-socket.js';
import {
  type RandomFaultOptions,
  RandomFaults,
  randomNumbers,
  seedFor,
} from '../support/rigs/random-faults.js';

const LIMIT_MS = 3_000;

/** What one end of a connection has seen. */
class End {
  received = '';
  readonly closed = deferred<'fin' | 'rst'>();
  readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
    let how: 'fin' | 'rst' = 'fin';
    socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    socket.on('error', (error: NodeJS.ErrnoException) => (how = error.code === 'ECONNRESET' ? 'rst' : how));
    socket.on('close', () => this.closed.resolve(how));
  }

  has(length: number): Promise<boolean> {
    return eventually(`${length} bytes`, LIMIT_MS, () => this.received.length >= length);
  }
}

describe('the TCP fault proxy', () => {
  let server: Server;
  let proxy: FaultProxy;
  const accepted: End[] = [];
  const opened: Socket[] = [];
  const running: RandomFaults[] = [];

  beforeEach(async () => {
    server = createServer((socket) => accepted.push(new End(socket))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await FaultProxy.start({ port: (server.address() as AddressInfo).port }); // a TCP address
  });

  afterEach(async () => {
    for (const faults of running.splice(0)) await faults.stop();
    await proxy.close();
    for (const socket of opened.splice(0)) socket.destroy();
    for (const end of accepted.splice(0)) end.socket.destroy();
    server.close();
  });

  function dial(): End {
    const socket = connect(proxy.port, '127.0.0.1');
    opened.push(socket);
    return new End(socket);
  }

  function random(options: RandomFaultOptions): RandomFaults {
    const faults = new RandomFaults(proxy, options);
    running.push(faults);
    return faults;
  }

  /** A connection through the proxy, with both ends and the link. */
  async function pair(): Promise<{ client: End; serverEnd: End; link: FaultProxy['links'][number] }> {
    const before = accepted.length;
    const next = proxy.nextLink();
    const client = dial();
    const link = await within('a link', LIMIT_MS, next);
    const serverEnd = await eventually('the server end', LIMIT_MS, () => accepted[before]);
    return { client, serverEnd, link };
  }

  it('passes bytes both ways, counts them and the connections, and names itself in a URL', async () => {
    const { client, serverEnd, link } = await pair();
    client.socket.write('ask');
    await serverEnd.has(3);
    serverEnd.socket.write('answer');
    await client.has(6);
    expect([serverEnd.received, client.received]).to.deep.equal(['ask', 'answer']);
    expect([link.passed('toServer'), link.passed('toClient')]).to.deep.equal([3, 6]);
    expect([proxy.accepted, link.number, proxy.links.length]).to.deep.equal([1, 1, 1]);
    expect(link.serverSidePort).to.equal(serverEnd.socket.remotePort);
    expect(proxy.url('rabbit://u:p@127.0.0.1:5672/v')).to.equal(`rabbit://u:p@127.0.0.1:${proxy.port}/v`);
  });

  it('passes on the end of one direction and leaves the other open', async () => {
    const { client, serverEnd } = await pair();
    serverEnd.socket.end('last words');
    await client.has(10);
    expect(await within('the close', LIMIT_MS, client.closed.promise)).to.equal('fin');
    expect(await within('the close', LIMIT_MS, serverEnd.closed.promise)).to.equal('fin');
    await eventually('no link', LIMIT_MS, () => proxy.links.length === 0);
  });

  for (const how of ['fin', 'rst'] as const)
    it(`cuts both ends by ${how}`, async () => {
      const { client, serverEnd } = await pair();
      expect(proxy.cut(how)).to.equal(1);
      expect(await within('the client', LIMIT_MS, client.closed.promise)).to.equal(how);
      expect(await within('the server', LIMIT_MS, serverEnd.closed.promise)).to.equal(how);
    });

  it('hands on a reset as a reset', async () => {
    const { client, serverEnd } = await pair();
    serverEnd.socket.resetAndDestroy();
    expect(await within('the client', LIMIT_MS, client.closed.promise)).to.equal('rst');
  });

  it('resets a connection that is ending by itself just then, and leaves nothing of it', async () => {
    const { client, serverEnd } = await pair();
    serverEnd.socket.end();
    resetSocket(serverEnd.socket);
    await within('the server', LIMIT_MS, serverEnd.closed.promise);
    await within('the client', LIMIT_MS, client.closed.promise);
  });

  it('holds one direction back while the other goes on, and loses nothing when healed', async () => {
    const { client, serverEnd } = await pair();
    proxy.blackHole('toServer');
    client.socket.write('held');
    serverEnd.socket.write('free');
    await client.has(4);
    client.socket.write(' back');
    serverEnd.socket.write(' way');
    await client.has(8);
    expect(serverEnd.received).to.equal('');
    await proxy.heal();
    await serverEnd.has(9);
    expect(serverEnd.received).to.equal('held back');
  });

  it('holds what a new connection sends too, and the end of a held one', async () => {
    proxy.blackHole();
    const { client, serverEnd } = await pair();
    serverEnd.socket.end('bye');
    client.socket.end('bye');
    await eventually('the proxy has it', LIMIT_MS, () => client.socket.writableFinished);
    expect([client.received, serverEnd.received]).to.deep.equal(['', '']);
    await proxy.heal();
    await within('both', LIMIT_MS, Promise.all([client.closed.promise, serverEnd.closed.promise]));
    expect([client.received, serverEnd.received]).to.deep.equal(['bye', 'bye']);
  });

  it('holds a reset, too', async () => {
    const { client, serverEnd } = await pair();
    proxy.blackHole();
    resetSocket(serverEnd.socket);
    await within('the server', LIMIT_MS, serverEnd.closed.promise);
    client.socket.write('lost');
    await eventually('it is written', LIMIT_MS, () => client.socket.bytesWritten >= 4);
    expect(client.socket.destroyed).to.equal(false);
    await proxy.heal();
    expect(await within('the client', LIMIT_MS, client.closed.promise)).to.equal('rst');
  });

  it('delays', async () => {
    const { client, serverEnd, link } = await pair();
    link.setWeather('toServer', { delayMs: 80 });
    const startMs = performance.now();
    client.socket.write('late');
    await serverEnd.has(4);
    expect(performance.now() - startMs).to.be.at.least(75);
  });

  it('throttles to bytes a second', async () => {
    const { client, serverEnd, link } = await pair();
    link.setWeather('toServer', { bytesPerSecond: 50_000 });
    const startMs = performance.now();
    client.socket.write('x'.repeat(10_000));
    await serverEnd.has(10_000);
    expect(performance.now() - startMs).to.be.within(150, 2_000);
  });

  it('cuts after so many bytes, of which the last still pass', async () => {
    const { client, serverEnd, link } = await pair();
    link.setWeather('toServer', { cutAfterBytes: 7 });
    client.socket.write('12345');
    await serverEnd.has(5);
    client.socket.write('67890');
    expect(await within('the cut', LIMIT_MS, client.closed.promise)).to.equal('rst');
    await link.closed;
    expect(link.passed('toServer')).to.equal(7);
  });

  it('keeps a reader that does not read from filling the memory', async () => {
    const { client, serverEnd, link } = await pair();
    serverEnd.socket.pause();
    const total = 32 * 1024 * 1024;
    let refused = false;
    for (let sent = 0; sent < total; sent += 65_536) refused = !client.socket.write('x'.repeat(65_536));
    expect(refused).to.equal(true);
    await eventually('some have passed', LIMIT_MS, () => link.passed('toServer') > 65_536);
    expect(link.passed('toServer')).to.be.below(total);
    serverEnd.socket.resume();
    await within(
      'all',
      20_000,
      eventually('all', 20_000, () => serverEnd.received.length === total),
    );
  }).timeout(30_000);

  it('refuses new connections and keeps the live ones, and takes them again', async () => {
    const { client, serverEnd } = await pair();
    await proxy.setDoorman('refuse');
    const refused = connect(proxy.port, '127.0.0.1');
    const [error] = (await within('the refusal', LIMIT_MS, once(refused, 'error'))) as [
      NodeJS.ErrnoException,
    ];
    expect(error.code).to.equal('ECONNREFUSED');
    client.socket.write('alive');
    await serverEnd.has(5);
    await proxy.heal();
    await pair();
    expect(proxy.accepted).to.equal(2);
  });

  it('accepts and then says nothing', async () => {
    await proxy.setDoorman('mute');
    const client = dial();
    client.socket.write('anyone?');
    await eventually('it is accepted', LIMIT_MS, () => proxy.accepted === 1);
    expect([accepted.length, client.received]).to.deep.equal([0, '']);
    proxy.cut();
    expect(await within('the cut', LIMIT_MS, client.closed.promise)).to.equal('rst');
  });

  it('accepts and resets', async () => {
    await proxy.setDoorman('reset');
    expect(await within('the reset', LIMIT_MS, dial().closed.promise)).to.equal('rst');
  });

  it('swallows: lets nothing through any more in one direction, and then cuts', async () => {
    const { client, serverEnd } = await pair();
    const faults = random({ seed: 1, firstMs: 0, everyMs: 60_000, lastMs: 300, kinds: ['swallow'] });
    await eventually('the fault', LIMIT_MS, () => faults.struck === 1);
    client.socket.write('ask');
    serverEnd.socket.write('answer');
    expect(await within('the cut', LIMIT_MS, client.closed.promise)).to.equal('rst');
    await within('the cut', LIMIT_MS, serverEnd.closed.promise);
    expect([client.received, serverEnd.received]).to.deep.equal(['', 'ask']);
  });

  it('leaves the weather of all to a connection whose own weather ends', async () => {
    const { client, serverEnd, link } = await pair();
    proxy.blackHole('toServer');
    link.setWeather('toClient', { blackHole: true });
    client.socket.write('ask');
    serverEnd.socket.write('answer');
    proxy.calm(link);
    await client.has(6);
    expect(serverEnd.received).to.equal('');
    await proxy.heal();
    await serverEnd.has(3);
  });

  it('makes a seed for each word from one, and fewer faults as time goes on', async () => {
    expect(seedFor(1, 'a')).to.equal(seedFor(1, 'a'));
    expect(new Set([seedFor(1, 'a'), seedFor(1, 'b'), seedFor(2, 'a')]).size).to.equal(3);
    const faults = random({ seed: 1, firstMs: 0, everyMs: 1, growth: 1000 });
    await eventually('two faults', LIMIT_MS, () => faults.done.length === 2); // the third is due in minutes
    expect(faults.struck).to.equal(0); // there was no connection
  });

  it('strikes at random, the same for a seed', async () => {
    const strikes: string[][] = [];
    for (const seed of [7, 7, 8]) {
      const faults = new RandomFaults(proxy, { seed, everyMs: 4, lastMs: 5 });
      await pair();
      await eventually('ten faults', LIMIT_MS, () => faults.done.length >= 10);
      await faults.stop();
      expect(faults.seed).to.equal(seed);
      strikes.push(faults.done.slice(0, 10));
    }
    expect(strikes[0]).to.deep.equal(strikes[1]);
    expect(strikes[0]).to.not.deep.equal(strikes[2]);
    expect(randomNumbers(1)()).to.be.within(0, 1);
  });
});
