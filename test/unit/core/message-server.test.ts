import {
  ConfigurationError,
  type Listener,
  MessageServer,
  type MessageServerOptions,
  MessagingTimeoutError,
  ServerListenError,
  ServerWaitTimeoutError,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { GatedHandler } from './support/gated-handler.js';
import { scriptedTransport, SOURCE, standOf, wireMessage } from './support/scripted-driver.js';

function bed(options: MessageServerOptions = {}) {
  const { transport, driver } = scriptedTransport();
  const handler = new GatedHandler();
  const errors: Error[] = [];
  transport.events.on('error', (error) => errors.push(error));
  return {
    transport,
    driver,
    handler,
    errors,
    server: new MessageServer(transport, SOURCE, handler, options),
  };
}

describe('a message server', () => {
  it('lets running handlers end, and only then closes its listener, when it is stopped (CORE-03)', async () => {
    const { driver, handler, server } = bed();
    await server.start();
    driver.listener.deliver(wireMessage('a'));
    driver.listener.deliver(wireMessage('b'));
    await server.stop();
    const wait = standOf(server.wait());
    await turn();
    expect([wait.is, server.running]).to.deep.equal(['pending', 2]);
    handler.end('a');
    await turn();
    expect(driver.listener.asked).to.deep.equal(['stop']);
    handler.end('b', new Error('failed'));
    await turn();
    expect([wait.is, server.running, server.state]).to.deep.equal(['resolved', 0, 'drained']);
    expect(driver.listener.asked).to.deep.equal(['stop', 'close']);
  });

  it('resolves wait() only when the broker has confirmed the acknowledgements, and tells what it has not (CORE-03)', async () => {
    const { driver, server } = bed();
    await server.start();
    const closed = deferred<readonly string[]>();
    driver.listener.onClose = () => closed.promise;
    await server.stop();
    const waiting = server.wait();
    const wait = standOf(waiting);
    await turn();
    expect(wait.is).to.equal('pending');
    closed.resolve(['two acknowledgements']);
    expect(await waiting).to.deep.equal({ unconfirmed: ['two acknowledgements'] });
  });

  it('says in the report of wait() that the listener could not be closed (CORE-03)', async () => {
    const { driver, server } = bed();
    await server.start();
    driver.listener.onClose = () => Promise.reject(new Error('lost scripted://user:s3cret@host'));
    await server.stop();
    const { unconfirmed } = await server.wait();
    expect(unconfirmed).to.have.length(1);
    expect(unconfirmed[0]).to.include('end of the listener').and.not.include('s3cret');
    expect(server.state).to.equal('drained');
  });

  it('ends stop() under a stream of messages that never ends, none of which is begun (CORE-04, AMQP-39)', async () => {
    const { driver, handler, server } = bed();
    await server.start();
    driver.listener.deliver(wireMessage('first'));
    const stopping = deferred();
    driver.listener.onStop = () => stopping.promise;
    const stop = server.stop();
    const late = Array.from({ length: 1000 }, () => driver.listener.deliver());
    await turn();
    late.push(driver.listener.deliver());
    stopping.resolve();
    await stop;
    late.push(driver.listener.deliver()); // from a driver that does not keep its promise
    expect(late.every(({ settled }) => settled.join() === 'release')).to.equal(true);
    expect(handler.begun).to.deep.equal(['first']);
    handler.endAll();
    await server.wait();
    expect(server.counts).to.deep.include({ run: 1, released: 1002 });
  });

  it('waits for stop() when wait() is called first (CORE-01)', async () => {
    const { server } = bed();
    await server.start();
    const wait = standOf(server.wait());
    await turn();
    expect(wait.is).to.equal('pending');
    await server.stop();
    await turn();
    expect(wait.is).to.equal('resolved');
  });

  it('rejects wait() at its time limit, hands back what has no slot, and waits again as before (CORE-01, AMQP-39)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, handler, server } = bed({ slots: 1 });
      await server.start();
      const deliveries = ['a', 'b', 'c'].map((id) => driver.listener.deliver(wireMessage(id)));
      await server.stop();
      const limited = rejectionOf(server.wait({ timeoutMs: 1000 }));
      const unlimited = standOf(server.wait());
      await clock.tickAsync(990);
      expect(deliveries.map(({ settled }) => settled)).to.deep.equal([['accept'], [], []]);
      await clock.tickAsync(20);
      const error = await limited;
      expect(error).to.be.instanceOf(ServerWaitTimeoutError);
      expect(error).to.deep.include({ code: 'ERR_WAIT_TIMEOUT', running: 1, released: 2 });
      expect(deliveries.map(({ settled }) => settled)).to.deep.equal([['accept'], ['release'], ['release']]);
      expect(unlimited.is).to.equal('pending');
      handler.end('a');
      await server.wait({ timeoutMs: 1000 });
      expect(handler.begun).to.deep.equal(['a']);
      expect(unlimited.is).to.equal('resolved');
    });
  });

  it('hands nothing back when the time limit of wait() passes before stop() was called', async () => {
    await onFakeClock(async (clock) => {
      const { driver, handler, server } = bed({ slots: 1 });
      await server.start();
      driver.listener.deliver(wireMessage('a'));
      const held = driver.listener.deliver(wireMessage('b'));
      const limited = rejectionOf(server.wait({ timeoutMs: 10 }));
      await clock.tickAsync(20);
      expect(await limited).to.deep.include({ code: 'ERR_WAIT_TIMEOUT', running: 1, released: 0 });
      expect(held.settled).to.deep.equal([]);
      handler.end('a');
      await turn();
      expect(handler.begun).to.deep.equal(['a', 'b']);
      handler.end('b');
    });
  });

  it('rejects wait() with the reason of its signal, and goes on', async () => {
    const { driver, handler, server } = bed();
    await server.start();
    driver.listener.deliver(wireMessage('a'));
    await server.stop();
    const abort = new AbortController();
    const reason = new Error('enough');
    const waiting = rejectionOf(server.wait({ signal: abort.signal }));
    abort.abort(reason);
    expect(await waiting).to.equal(reason);
    handler.endAll();
    expect(await server.wait()).to.deep.equal({ unconfirmed: [] });
  });

  it('gives back at once what has no slot when it is stopped with fetched: release (AMQP-39)', async () => {
    const { driver, handler, server } = bed({ slots: 1, fetched: 'release' });
    await server.start();
    const [first, ...others] = ['a', 'b', 'c'].map((id) => driver.listener.deliver(wireMessage(id)));
    const order: string[] = [];
    driver.listener.onStop = async () => void order.push('stop');
    for (const other of others) other.onSettled = () => order.push('release');
    await server.stop();
    expect(order).to.deep.equal(['stop', 'release', 'release']); // not the other way: it would come here again
    expect(first?.settled).to.deep.equal(['accept']);
    handler.end('a');
    await server.wait();
    expect(handler.begun).to.deep.equal(['a']);
  });

  it('runs what was fetched before it was stopped, in order, and waits for it (GS-13, GS-17)', async () => {
    const { driver, handler, server } = bed({ slots: 1 });
    await server.start();
    for (const id of ['a', 'b', 'c']) driver.listener.deliver(wireMessage(id));
    await server.stop();
    const wait = standOf(server.wait());
    for (const id of ['a', 'b', 'c']) {
      await turn();
      expect([wait.is, handler.begun.at(-1)]).to.deep.equal(['pending', id]);
      handler.end(id);
    }
    await turn();
    expect([wait.is, ...handler.begun]).to.deep.equal(['resolved', 'a', 'b', 'c']);
  });

  it('fails start() with the cause, closes nothing twice and starts again (CORE-02)', async () => {
    const { driver, server } = bed();
    driver.onListen = () => Promise.reject(new Error('refused amqp://user:s3cret@host/'));
    const error = await rejectionOf(server.start());
    expect(error).to.be.instanceOf(ServerListenError);
    expect(error.message).to.include('"compute"').and.include('"host-1"').and.not.include('s3cret');
    expect(error.cause).to.have.property('code', 'ERR_DELIVERY');
    expect(server.state).to.equal('idle');
    expect(await server.wait()).to.deep.equal({ unconfirmed: [] });
    driver.onListen = (listener) => Promise.resolve(listener);
    await server.start();
    expect(server.state).to.equal('listening');
  });

  it('settles start(), stop() and wait() when the driver never answers, and closes a listener that comes too late (CORE-01, AMQP-41)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, server } = bed();
      const answer = deferred<Listener>();
      driver.onListen = () => answer.promise;
      const start = rejectionOf(server.start());
      await turn();
      const ends = [server.stop(), server.wait()].map(standOf);
      await clock.tickAsync(60_100);
      expect(await start).to.have.property('code', 'ERR_SERVER_LISTEN');
      expect(ends.map(({ is }) => is)).to.deep.equal(['resolved', 'resolved']);
      answer.resolve(driver.listener);
      await turn();
      expect(driver.listener.asked).to.deep.equal(['close']);
      const late = driver.listener.deliver();
      expect(late.settled).to.deep.equal(['release']);
    });
  });

  it('settles stop() when the broker never confirms it, and wait() works all the same (CORE-01, AMQP-41)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, server } = bed();
      await server.start();
      driver.listener.onStop = () => new Promise(() => {});
      driver.listener.onClose = () => new Promise(() => {});
      const stop = rejectionOf(server.stop());
      const wait = server.wait();
      await clock.tickAsync(60_100);
      expect(await stop).to.be.instanceOf(MessagingTimeoutError);
      await clock.tickAsync(60_100);
      expect((await wait).unconfirmed).to.have.length(1);
      expect(server.state).to.equal('drained');
    });
  });

  it('starts once when a listener of the transport starts it again from within (CORE-01)', async () => {
    const { transport, driver, server } = bed();
    driver.onConnect = async () => {
      driver.context.events.connection('connected');
    };
    const inner: Promise<unknown>[] = [];
    transport.events.on('connection', () => inner.push(server.start(), transport.connect()));
    await server.start();
    await Promise.all(inner);
    expect(driver.asked).to.deep.equal(['connect', 'listen']);
  });

  it('can be started again after wait(), with a fresh listener', async () => {
    const { driver, handler, server } = bed();
    for (const id of ['a', 'b']) {
      await server.start();
      driver.listener.deliver(wireMessage(id));
      await server.stop();
      handler.end(id);
      await server.wait();
    }
    expect(driver.listeners.map(({ asked }) => asked.join())).to.deep.equal(['stop,close', 'stop,close']);
    expect(handler.begun).to.deep.equal(['a', 'b']);
  });

  it('refuses a bad time limit or an unknown option of wait() by a rejection, and leaves no failure unheard (CORE-09, CORE-11)', async () => {
    const { server } = bed();
    expect(await rejectionOf(server.wait({ timeoutMs: Number.NaN }))).to.have.property(
      'code',
      'ERR_CONFIGURATION',
    );
    await server.start();
    const misspelt: object = { timeOutMs: 5 };
    expect(await rejectionOf(server.wait(misspelt))).to.include({ code: 'ERR_CONFIGURATION' });
    const waiting = server.wait({ timeoutMs: -1 });
    expect(await rejectionOf(waiting)).to.have.property('code', 'ERR_CONFIGURATION');
    await server.stop();
    await server.wait();
  });

  const bad: [string, object][] = [
    ['slots', { slots: 0 }],
    ['slots', { slots: 1.5 }],
    ['prefetch', { prefetch: 0 }],
    ['prefetch', { prefetch: Infinity }],
    ['fetched', { fetched: 'drop' }],
    ['duplicateWindow', { duplicateWindow: -1 }],
    ['stallMs', { stallMs: 0 }],
    ['maxHeldMs', { maxHeldMs: Number.NaN }],
    ['maxHeldMs', { stallMs: 1000, maxHeldMs: 999 }],
    ['slot', { slot: 5 }],
  ];
  for (const [name, options] of bad) {
    it(`is not made with ${JSON.stringify(options)}, which is named (CORE-09, AMQP-36)`, () => {
      const { transport } = scriptedTransport();
      const make = (): unknown => new MessageServer(transport, SOURCE, new GatedHandler(), options);
      expect(make).to.throw(ConfigurationError, name);
    });
  }
});
