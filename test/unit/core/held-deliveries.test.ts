import { MessageServer, type MessageServerOptions } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { GatedHandler } from './support/gated-handler.js';
import { type ScriptedDelivery, scriptedTransport, SOURCE, wireMessage } from './support/scripted-driver.js';

async function bed(options: MessageServerOptions) {
  const { transport, driver } = scriptedTransport();
  const errors: Error[] = [];
  transport.events.on('error', (error) => errors.push(error));
  const handler = new GatedHandler();
  const server = new MessageServer(transport, SOURCE, handler, options);
  await server.start();
  const { listener } = driver;
  const deliver = (...ids: string[]): ScriptedDelivery[] =>
    ids.map((id) => listener.deliver(wireMessage(id)));
  return { deliver, errors, handler, listener, server };
}

describe('fetched messages that wait for a slot', () => {
  it('make the server ask for no more after a second without a free one, and for more when the last has one', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener } = await bed({ slots: 1 });
      deliver('a', 'b', 'c');
      await clock.tickAsync(990);
      expect(listener.asked).to.deep.equal([]);
      await clock.tickAsync(20);
      expect(listener.asked).to.deep.equal(['pause']);
      handler.end('a');
      await turn();
      expect(listener.asked).to.deep.equal(['pause']); // one still waits
      handler.end('b');
      await turn();
      expect(listener.asked).to.deep.equal(['pause', 'resume']);
      handler.end('c');
    });
  });

  it('make it ask for no more again at every further stall', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener } = await bed({ slots: 1 });
      for (const [runs, waits] of [
        ['a', 'b'],
        ['c', 'd'],
      ] as const) {
        deliver(runs, waits);
        await clock.tickAsync(1010);
        expect(listener.asked.splice(0)).to.deep.equal(['pause']);
        for (const id of [runs, waits]) {
          handler.end(id);
          await turn();
        }
        expect(listener.asked.splice(0)).to.deep.equal(['resume']);
      }
    });
  });

  it('do not make it pause as long as slots come free', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener } = await bed({ slots: 1 });
      deliver('a', 'b', 'c', 'd');
      for (const id of ['a', 'b', 'c']) {
        await clock.tickAsync(900);
        handler.end(id);
      }
      await clock.tickAsync(5000);
      expect(listener.asked).to.deep.equal([]);
      handler.end('d');
    });
  });

  it('go back after 30 seconds, in their order, and the server stays paused until a slot is free', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener, server } = await bed({ slots: 1 });
      deliver('a');
      const order: string[] = [];
      const early = deliver('b', 'c');
      await clock.tickAsync(500);
      const later = deliver('d');
      for (const delivery of [...early, ...later])
        delivery.onSettled = () => order.push(delivery.message.id ?? '');
      await clock.tickAsync(29_490);
      expect(order).to.deep.equal([]);
      await clock.tickAsync(20);
      expect(order).to.deep.equal(['b', 'c']);
      await clock.tickAsync(500);
      expect(order).to.deep.equal(['b', 'c', 'd']);
      expect([...early, ...later].map(({ settled }) => settled.join())).to.deep.equal([
        'release',
        'release',
        'release',
      ]);
      await clock.tickAsync(3_600_000);
      expect(listener.asked).to.deep.equal(['pause']);
      handler.end('a');
      await turn();
      expect(listener.asked).to.deep.equal(['pause', 'resume']);
      expect([server.running, server.counts.released]).to.deep.equal([0, 3]);
    });
  });

  it('go back when the event loop was blocked, or the machine asleep, for longer than that', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener } = await bed({ slots: 1 });
      const [, held] = deliver('a', 'b');
      clock.jump(600_000);
      await clock.tickAsync(20);
      expect(held?.settled).to.deep.equal(['release']);
      expect(listener.asked).to.deep.equal(['pause']);
      handler.end('a');
    });
  });

  it('are watched no more once the server is stopped: they wait for their slot, and nothing is paused or resumed', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener, server } = await bed({ slots: 1 });
      const [, held] = deliver('a', 'b');
      await server.stop();
      await clock.tickAsync(3_600_000);
      expect(held?.settled).to.deep.equal([]);
      handler.end('a');
      await turn();
      handler.end('b');
      await server.wait();
      expect(listener.asked).to.deep.equal(['stop', 'close']);
      expect(handler.begun).to.deep.equal(['a', 'b']);
    });
  });

  it('are watched again after a new start, also when the server was stopped while paused', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, handler, listener, server } = await bed({ slots: 1 });
      deliver('a', 'b');
      await clock.tickAsync(1010);
      await server.stop();
      handler.end('a');
      await turn();
      handler.end('b');
      await server.wait();
      expect(listener.asked).to.deep.equal(['pause', 'stop', 'close']);
    });
  });

  it('harm nothing when the driver fails to pause or to resume: that is reported (CORE-11)', async () => {
    await onFakeClock(async (clock) => {
      const { deliver, errors, handler, listener } = await bed({ slots: 1 });
      listener.onPause = () => Promise.reject(new Error('pause failed'));
      listener.onResume = () => Promise.reject(new Error('resume failed'));
      deliver('a', 'b');
      await clock.tickAsync(1010);
      handler.end('a');
      await turn();
      expect(errors.map(({ message }) => message)).to.deep.equal(['pause failed', 'resume failed']);
      handler.end('b');
    });
  });
});
