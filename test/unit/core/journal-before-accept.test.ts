import {
  Deadline,
  type MessageHandler,
  MessageServer,
  type MessageServerOptions,
  timers,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { scriptedTransport, SOURCE, type ScriptedDelivery, wireMessage } from './support/scripted-driver.js';

async function bed(handler: MessageHandler<string>, options: MessageServerOptions = {}) {
  const { transport, driver } = scriptedTransport();
  const errors: Error[] = [];
  transport.events.on('error', (error) => errors.push(error));
  const server = new MessageServer(transport, SOURCE, handler, options);
  await server.start();
  const deliver = (id?: string, deadline?: Deadline): ScriptedDelivery =>
    driver.listener.deliver(wireMessage(id, deadline));
  return { driver, deliver, errors, server };
}

function handlerOf(run: MessageHandler<string>['run']): MessageHandler<string> {
  return { read: ({ id }) => id ?? 'none', idOf: (id) => id, run };
}

/** A journal that cannot write what is called bad. */
function refusing(run: MessageHandler<string>['run'] = () => {}): MessageHandler<string> {
  return {
    ...handlerOf(run),
    beforeAccept: async (id) => {
      await Promise.resolve();
      if (id === 'bad') throw new Error('the disk is full');
    },
  };
}

async function journalBed(options: MessageServerOptions = {}, run: MessageHandler<string>['run'] = () => {}) {
  const parts = await bed(refusing(run), options);
  const refuse = async (): Promise<void> => {
    parts.deliver('bad');
    await turn();
  };
  return { ...parts, refuse };
}

describe('a server with a journal before the acceptance', () => {
  it('writes, then accepts, then runs', async () => {
    const order: string[] = [];
    const written = deferred();
    const { deliver } = await bed({
      ...handlerOf(() => void order.push('run')),
      beforeAccept: async () => {
        order.push('write');
        await written.promise;
      },
    });
    const delivery = deliver();
    delivery.onSettled = () => order.push('accept');
    await turn();
    expect(order).to.deep.equal(['write']);
    written.resolve();
    await turn();
    expect(order).to.deep.equal(['write', 'accept', 'run']);
  });

  it('gives the message back when that fails, and reports it', async () => {
    const { deliver, errors, server } = await bed({
      ...handlerOf(() => {}),
      beforeAccept: () => {
        throw new Error('the disk is full');
      },
    });
    const delivery = deliver();
    await turn();
    expect(delivery.settled).to.deep.equal(['release']);
    expect(errors.map(({ message }) => message)).to.deep.equal(['the disk is full']);
    expect([server.running, server.counts.run, server.counts.released]).to.deep.equal([0, 0, 1]);
    await server.stop(); // ends the pause
  });

  it('runs neither a copy nor what has expired while the journal was written', async () => {
    await onFakeClock(async (clock) => {
      const written = deferred();
      const ran: string[] = [];
      const { deliver, server } = await bed({
        ...handlerOf((id) => void ran.push(id)),
        beforeAccept: () => written.promise,
      });
      const deliveries = [deliver('a'), deliver('a'), deliver('late', Deadline.after(100))];
      await clock.tickAsync(200);
      written.resolve();
      await turn();
      expect(ran).to.deep.equal(['a']);
      expect(deliveries.map(({ settled }) => settled.join())).to.deep.equal(['accept', 'accept', 'accept']);
      expect(server.counts).to.deep.include({ run: 1, duplicate: 1, expired: 1 });
    });
  });

  it('asks for no more while that fails, longer each time, so that nothing comes back at full speed', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, driver, refuse } = await journalBed();
      const { listener } = driver;
      for (const pauseMs of [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]) {
        await refuse();
        expect(listener.asked.splice(0)).to.deep.equal(['pause']);
        await clock.tickAsync(pauseMs - 10);
        expect(listener.asked).to.deep.equal([]);
        await clock.tickAsync(20);
        expect(listener.asked.splice(0)).to.deep.equal(['resume']);
      }
      deliver('good');
      await turn();
      await refuse();
      await clock.tickAsync(110);
      expect(listener.asked).to.deep.equal(['pause', 'resume']); // it began anew with the first that was accepted
    });
  });

  it('pauses once for all that were fetched together, before the first goes back', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, driver } = await journalBed();
      const { asked } = driver.listener;
      const deliveries = [deliver('bad'), deliver('bad'), deliver('bad')];
      for (const delivery of deliveries) delivery.onSettled = () => asked.push('release');
      await turn();
      await clock.tickAsync(110);
      expect(asked).to.deep.equal(['pause', 'release', 'release', 'release', 'resume']);
    });
  });

  it('stays paused until both its slots and its journal are well', async () => {
    await onFakeClock(async (clock) => {
      const gate = deferred();
      const { deliver, driver, refuse } = await journalBed({ slots: 2, stallMs: 50 }, () => gate.promise);
      await refuse();
      deliver('a');
      deliver('b');
      deliver('c'); // has no slot
      await clock.tickAsync(500);
      expect(driver.listener.asked).to.deep.equal(['pause']);
      gate.resolve();
      await turn();
      expect(driver.listener.asked).to.deep.equal(['pause', 'resume']);
    });
  });

  it('leaves no pause behind when it is stopped meanwhile, and begins anew after a start (CORE-05)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, refuse, server } = await journalBed();
      const before = timers.size;
      await refuse();
      await server.stop();
      expect(timers.size).to.equal(before);
      await server.wait();
      await clock.tickAsync(20_000);
      expect(driver.listener.asked).to.deep.equal(['pause', 'stop', 'close']);
      await server.start();
      await refuse();
      await clock.tickAsync(110);
      expect(driver.listener.asked).to.deep.equal(['pause', 'resume']);
    });
  });

  it('sets no pause for what fails after stop() (CORE-05)', async () => {
    const journal = deferred();
    const { transport, driver } = scriptedTransport();
    transport.events.on('error', () => {});
    const server = new MessageServer(transport, SOURCE, {
      ...handlerOf(() => {}),
      beforeAccept: () => journal.promise,
    });
    await server.start();
    const delivery = driver.listener.deliver();
    await server.stop();
    const before = timers.size;
    journal.reject(new Error('the disk is full'));
    await server.wait();
    expect(delivery.settled).to.deep.equal(['release']);
    expect(timers.size).to.equal(before);
    expect(driver.listener.asked).to.deep.equal(['stop', 'close']);
  });

  it('pauses as soon as it can for what fails before start() has resolved', async () => {
    await onFakeClock(async (clock) => {
      const { transport, driver } = scriptedTransport();
      transport.events.on('error', () => {});
      const server = new MessageServer(transport, SOURCE, refusing());
      driver.onListen = async (listener) => {
        listener.deliver(wireMessage('bad'));
        await turn();
        return listener;
      };
      await server.start();
      expect(driver.listener.asked).to.deep.equal(['pause']);
      await clock.tickAsync(110);
      expect(driver.listener.asked).to.deep.equal(['pause', 'resume']);
    });
  });
});
