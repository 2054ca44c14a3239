import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  Deadline,
  diagnostics,
  type DroppedMessage,
  MessageServer,
  type MessageHandler,
  type MessageServerOptions,
  type ServerDiagnostic,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred, turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { GatedHandler } from './support/gated-handler.js';
import { scriptedTransport, SOURCE, type ScriptedDelivery, wireMessage } from './support/scripted-driver.js';

async function bed(handler: MessageHandler<string>, options: MessageServerOptions = {}) {
  const log = new CapturedLog();
  const { transport, driver } = scriptedTransport({ logger: log });
  const errors: Error[] = [];
  const dropped: DroppedMessage[] = [];
  transport.events.on('error', (error) => errors.push(error));
  transport.events.on('dropped', (message) => dropped.push(message));
  const server = new MessageServer(transport, SOURCE, handler, options);
  await server.start();
  const deliver = (id?: string, deadline?: Deadline): ScriptedDelivery =>
    driver.listener.deliver(wireMessage(id, deadline));
  return { driver, deliver, dropped, errors, log, server };
}

function handlerOf(run: MessageHandler<string>['run']): MessageHandler<string> {
  return { read: ({ id }) => id ?? 'none', idOf: (id) => id, run };
}

describe('what a server does with a delivery', () => {
  it('accepts it when its handler takes a slot, not before (AMQP-10)', async () => {
    const handler = new GatedHandler();
    const { deliver } = await bed(handler, { slots: 1 });
    const [first, second] = [deliver(), deliver()];
    expect([first.settled, second.settled]).to.deep.equal([['accept'], []]);
    handler.end();
    await turn();
    expect(second.settled).to.deep.equal(['accept']);
    handler.end();
  });

  it('rejects what cannot be read, once, and tells no secret of it (AMQP-29, AMQP-30, SEC-04)', async () => {
    const broken: MessageHandler<string> = {
      read: () => {
        throw new SyntaxError('unexpected redis://user:s3cret@host');
      },
      idOf: () => undefined,
      run: () => {},
    };
    const { deliver, dropped, log, server } = await bed(broken, { slots: 1 });
    const deliveries = [deliver('a'), deliver('b')];
    expect(deliveries.map(({ settled }) => settled)).to.deep.equal([['reject'], ['reject']]);
    expect(dropped.map(({ reason, messageId, topic }) => [reason, messageId, topic])).to.deep.equal([
      ['malformed', 'a', 'compute'],
      ['malformed', 'b', 'compute'],
    ]);
    expect(log.at('warn')).to.have.length(2);
    expect(JSON.stringify([dropped, log.lines])).to.not.include('s3cret');
    expect([server.running, server.counts.malformed]).to.deep.equal([0, 2]);
  });

  it('accepts and drops what has expired, also while it waited for a slot (AMQP-29)', async () => {
    await onFakeClock(async (clock) => {
      const handler = new GatedHandler();
      const { deliver, dropped, server } = await bed(handler, { slots: 1 });
      const late = deliver('late', Deadline.after(-1));
      deliver('a');
      const waited = deliver('waited', Deadline.after(100));
      await clock.tickAsync(200);
      handler.end('a');
      await turn();
      expect([late.settled, waited.settled]).to.deep.equal([['accept'], ['accept']]);
      expect(dropped.map(({ messageId, reason }) => [messageId, reason])).to.deep.equal([
        ['late', 'expired'],
        ['waited', 'expired'],
      ]);
      expect([handler.begun.join(), server.running]).to.deep.equal(['a', 0]);
    });
  });

  it('runs an id once, and acknowledges its copies, also while the first still runs', async () => {
    const handler = new GatedHandler();
    const { deliver, server } = await bed(handler);
    const copies = [deliver('a'), deliver('a')];
    handler.end('a');
    await turn();
    copies.push(deliver('a'));
    expect(copies.map(({ settled }) => settled.join())).to.deep.equal(['accept', 'accept', 'accept']);
    expect([handler.begun.join(), server.counts.duplicate]).to.deep.equal(['a', 2]);
  });

  it('runs an id once when its copies are being accepted at the same time', async () => {
    const handler = new GatedHandler();
    const { driver, server } = await bed(handler);
    const confirmed = deferred<boolean>();
    const deliveries = ['a', 'a'].map((id) =>
      driver.listener.deliver(wireMessage(id), () => confirmed.promise),
    );
    confirmed.resolve(true);
    await turn();
    expect(handler.begun).to.deep.equal(['a']);
    expect(deliveries.map(({ settled }) => settled.join())).to.deep.equal(['accept', 'accept']);
    handler.endAll();
    await turn();
    expect(server.running).to.equal(0);
  });

  const refusals: [string, () => boolean | Promise<boolean>][] = [
    ['at once', () => false],
    ['later', () => Promise.resolve(false)],
    ['by a failure', () => Promise.reject(new Error('the channel is gone'))],
  ];
  for (const [how, accepted] of refusals) {
    it(`does not run what could not be accepted, told ${how}, gives the slot back and may run it later`, async () => {
      const handler = new GatedHandler();
      const { driver, server } = await bed(handler, { slots: 1 });
      driver.listener.deliver(wireMessage('a'), accepted);
      await turn();
      expect([handler.begun.length, server.running, server.counts.gone]).to.deep.equal([0, 0, 1]);
      driver.listener.deliver(wireMessage('a')); // the broker gives it out again
      expect(handler.begun).to.deep.equal(['a']);
      handler.end();
    });
  }

  it('minds that the acknowledgement of a dropped message fails (CORE-11)', async () => {
    const { driver, server } = await bed(new GatedHandler(), { slots: 1 });
    driver.listener.deliver(wireMessage('a', Deadline.after(-1)), () =>
      Promise.reject(new Error('the channel is gone')),
    );
    await turn();
    expect([server.running, server.counts.expired]).to.deep.equal([0, 1]);
  });

  it('survives a handler that throws, rejects or throws what is no error, and reports each once (AMQP-36, CORE-11)', async () => {
    const outcomes: (() => Promise<void> | undefined)[] = [
      () => {
        throw new Error('thrown');
      },
      () => Promise.reject(new Error('rejected')),
      () => Promise.reject(undefined),
      () => Promise.reject(Object.create(null)),
      () => {
        throw Object.defineProperty(new Error('x'), 'message', {
          get: () => {
            throw new Error('no message');
          },
        });
      },
    ];
    let next = 0;
    const { deliver, errors, server } = await bed(
      handlerOf(() => outcomes[next++]?.()),
      { slots: 1 },
    );
    const deliveries = outcomes.map(() => deliver());
    await turn();
    await turn();
    expect(errors).to.have.length(outcomes.length);
    expect(deliveries.every(({ settled }) => settled.join() === 'accept')).to.equal(true);
    expect([server.running, server.waiting]).to.deep.equal([0, 0]);
  });

  it('passes a slot on through any number of fetched messages that end at once', async () => {
    await onFakeClock(async (clock) => {
      const handler = new GatedHandler();
      const { deliver, errors, server } = await bed(handler, {
        slots: 1,
        prefetch: 20_001,
        maxHeldMs: 600_000,
      });
      deliver('a');
      const held = Array.from({ length: 20_000 }, () => deliver(undefined, Deadline.after(1000)));
      await clock.tickAsync(2000);
      handler.end('a');
      await turn();
      expect(held.every(({ settled }) => settled.join() === 'accept')).to.equal(true);
      expect([server.running, server.waiting, server.counts.expired, errors.length]).to.deep.equal([
        0, 0, 20_000, 0,
      ]);
    });
  }).timeout(20_000);

  it('tells of each message, with its own topic and outcome, on the diagnostics channel (CORE-12)', async () => {
    const seen: [string | undefined, string, string][] = [];
    const listen = (payload: unknown): void => {
      const { messageId, topic, as } = payload as ServerDiagnostic; // published with this shape
      seen.push([messageId, topic, as]);
    };
    subscribe(diagnostics.handled.name, listen);
    try {
      const { transport, driver } = scriptedTransport();
      const topics = ['compute', 'conductor'];
      for (const topic of topics) {
        await new MessageServer(
          transport,
          { ...SOURCE, topic },
          handlerOf(() => {}),
        ).start();
      }
      for (const [index, listener] of driver.listeners.entries()) {
        listener.deliver(wireMessage(`run-${String(index)}`));
        listener.deliver(wireMessage(`late-${String(index)}`, Deadline.after(-1)));
      }
    } finally {
      unsubscribe(diagnostics.handled.name, listen);
    }
    expect(seen).to.deep.equal([
      ['run-0', 'compute', 'run'],
      ['late-0', 'compute', 'expired'],
      ['run-1', 'conductor', 'run'],
      ['late-1', 'conductor', 'expired'],
    ]);
  });
});
