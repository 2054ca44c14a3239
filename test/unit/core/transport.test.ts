import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  AuthenticationError,
  BackpressureError,
  ConfigurationError,
  createTransport,
  Deadline,
  diagnostics,
  DriverLoadError,
  type Listener,
  type MaybePromise,
  type MessageDiagnostic,
  MessageServer,
  type PublishOptions,
  type TopicDestination,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred, rejectionOf, turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { GatedHandler } from './support/gated-handler.js';
import { scriptedTransport, SOURCE, standOf, wireMessage } from './support/scripted-driver.js';

const TOPIC: TopicDestination = { kind: 'topic', exchange: 'openstack', topic: 'compute' };

function sendOptions(ms = 10_000): PublishOptions {
  return { deadline: Deadline.after(ms), mandatory: true, retry: undefined };
}

/** `publish` may throw as well as reject. */
async function published(send: () => MaybePromise<void>): Promise<void> {
  await send();
}

describe('a transport', () => {
  describe('when it is made', () => {
    const bad: [string, object][] = [
      ['sendTimeoutMs', { sendTimeoutMs: 0 }],
      ['sendTimeoutMs', { sendTimeoutMs: '5' }],
      ['maxPendingSends', { maxPendingSends: -1 }],
      ['maxPendingSends', { maxPendingSends: 0.5 }],
      ['maxPendingBytes', { maxPendingBytes: Number.NaN }],
      ['controlExchange', { controlExchange: '' }],
      ['controlExchange', { controlExchange: 7 }],
      ['logger', { logger: { debug: () => {}, info: () => {}, warn: () => {} } }],
      ['sendTimeout', { sendTimeout: 5 }],
      ['drivers', { drivers: 5 }],
      ['drivers', { drivers: [{ schemes: ['x'] }] }],
    ];
    for (const [name, options] of bad) {
      it(`refuses ${JSON.stringify(options)} and names it (CORE-09)`, () => {
        expect(() => createTransport('memory:', options)).to.throw(ConfigurationError, name);
      });
    }

    for (const query of [
      'max_queue_length=0',
      'max_queue_length=x',
      'max_queue_bytes=1.5',
      'max_queue_lenght=1',
    ]) {
      it(`refuses ?${query} in the URL and names it (CORE-09)`, () => {
        const name = query.split('=', 1)[0] ?? '';
        expect(() => createTransport(`memory://bad/?${query}`)).to.throw(ConfigurationError, name);
      });
    }

    it('says which package has the driver of a known scheme', () => {
      expect(() => createTransport('rabbit://host/')).to.throw(DriverLoadError, '@ebbgate/driver-amqp');
      expect(() => createTransport('redis+sentinel://host/')).to.throw(
        DriverLoadError,
        '@ebbgate/driver-redis',
      );
      expect(() => createTransport('carrier://host/')).to.throw(DriverLoadError, 'memory');
    });
  });

  describe('connecting', () => {
    it('is done once for all who ask, and when first used', async () => {
      const { transport, driver } = scriptedTransport();
      await Promise.all([
        transport.connect(),
        transport.connect(),
        published(() => transport.publish(TOPIC, wireMessage(), sendOptions())),
        transport.openReplyQueue(() => {}),
      ]);
      await transport.connect();
      expect(driver.asked.filter((each) => each === 'connect')).to.have.length(1);
      expect(transport.state).to.equal('open');
    });

    it('may be tried again after a failure, which keeps its class', async () => {
      const { transport, driver } = scriptedTransport();
      const refused = new AuthenticationError('The broker refused the credentials');
      driver.onConnect = () => Promise.reject(refused);
      expect(await rejectionOf(transport.connect())).to.equal(refused);
      driver.onConnect = () => {
        throw new Error('thrown, not rejected');
      };
      expect(await rejectionOf(transport.connect())).to.have.property('code', 'ERR_DELIVERY');
      driver.onConnect = () => Promise.resolve();
      await transport.connect();
      expect(transport.state).to.equal('open');
    });

    it('is given up after sendTimeoutMs when the driver hangs', async () => {
      await onFakeClock(async (clock) => {
        const { transport, driver } = scriptedTransport({ sendTimeoutMs: 500 });
        driver.onConnect = () => new Promise(() => {});
        const failed = rejectionOf(transport.connect());
        await clock.tickAsync(600);
        expect(await failed).to.have.property('code', 'ERR_DELIVERY');
        expect(transport.state).to.equal('idle');
      });
    });

    it('counts towards the deadline of a send that waits for it (AMQP-19)', async () => {
      await onFakeClock(async (clock) => {
        const { transport, driver } = scriptedTransport();
        driver.onConnect = () => new Promise(() => {});
        const sent = rejectionOf(published(() => transport.publish(TOPIC, wireMessage(), sendOptions(50))));
        await clock.tickAsync(70);
        expect(await sent).to.deep.include({ code: 'ERR_DELIVERY', outcome: 'not-sent' });
        expect(transport.pendingSends).to.equal(0);
        await transport.close();
      });
    });
  });

  describe('sending', () => {
    it('is bounded in count and bytes, also before it is connected, and fails at once beyond (AMQP-01)', async () => {
      const { transport, driver } = scriptedTransport({ maxPendingSends: 3, maxPendingBytes: 40 });
      const connected = deferred();
      driver.onConnect = () => connected.promise;
      const sends = [1, 2, 3].map(() =>
        published(() => transport.publish(TOPIC, wireMessage('ten bytes.'), sendOptions())),
      );
      expect(() => transport.publish(TOPIC, wireMessage('a'), sendOptions())).to.throw(
        BackpressureError,
        'maxPendingSends',
      );
      expect(transport.pendingSends).to.equal(3);
      connected.resolve();
      await Promise.all(sends);
      const confirmed = deferred();
      driver.onPublish = () => confirmed.promise;
      const waiting = published(() => transport.publish(TOPIC, wireMessage('x'.repeat(39)), sendOptions()));
      expect(() => transport.publish(TOPIC, wireMessage('two'), sendOptions())).to.throw(
        BackpressureError,
        'maxPendingBytes',
      );
      confirmed.resolve();
      await waiting;
      expect(transport.pendingSends).to.equal(0);
    });

    it('fails at once while not connected when nothing may wait (AMQP-01)', async () => {
      const { transport } = scriptedTransport({ maxPendingSends: 0 });
      expect(() => transport.publish(TOPIC, wireMessage(), sendOptions())).to.throw(BackpressureError);
      await transport.connect();
      await transport.publish(TOPIC, wireMessage(), sendOptions());
    });

    it('tells of each message, and of each failure however it is told, on the diagnostics channels (CORE-12)', async () => {
      const { transport, driver } = scriptedTransport();
      await transport.connect();
      const seen: string[] = [];
      const on = (kind: string) => (payload: unknown) => {
        const { messageId, destination, error } = payload as MessageDiagnostic; // published with this shape
        const topic = 'topic' in destination ? String(destination.topic) : '';
        seen.push([kind, messageId, topic, ...(error instanceof Error ? [error.message] : [])].join(' '));
      };
      const [sent, failed] = [on('sent'), on('failed')];
      subscribe(diagnostics.published.name, sent);
      subscribe(diagnostics.publishFailed.name, failed);
      try {
        const answers: (() => MaybePromise<void>)[] = [
          () => undefined,
          () => Promise.resolve(),
          () => {
            throw new BackpressureError('thrown');
          },
          () => Promise.reject(new BackpressureError('rejected')),
        ];
        for (const [index, answer] of answers.entries()) {
          driver.onPublish = answer;
          const topic = `topic-${String(index)}`;
          await published(() =>
            transport.publish({ ...TOPIC, topic }, wireMessage(`m${String(index)}`), sendOptions()),
          ).catch(() => {});
        }
      } finally {
        unsubscribe(diagnostics.published.name, sent);
        unsubscribe(diagnostics.publishFailed.name, failed);
      }
      expect(seen).to.deep.equal([
        'sent m0 topic-0',
        'sent m1 topic-1',
        'failed m2 topic-2 thrown',
        'failed m3 topic-3 rejected',
      ]);
    });

    it('asks the driver for one thing a message: no topology is declared for it (CORE-13)', async () => {
      const { transport, driver } = scriptedTransport();
      const server = new MessageServer(transport, SOURCE, new GatedHandler());
      await server.start();
      for (let sent = 0; sent < 50; sent += 1) await transport.publish(TOPIC, wireMessage(), sendOptions());
      for (let taken = 0; taken < 50; taken += 1) driver.listener.deliver();
      const counts = new Map<string, number>();
      for (const name of driver.asked) counts.set(name, (counts.get(name) ?? 0) + 1);
      expect([...counts]).to.deep.equal([
        ['connect', 1],
        ['listen', 1],
        ['publish', 50],
      ]);
      expect(driver.listener.asked).to.deep.equal([]);
    });
  });

  describe('closing', () => {
    it('happens once for all who ask, also from within, and tells who waits at once', async () => {
      const { transport, driver } = scriptedTransport();
      await transport.connect();
      const inner: Promise<void>[] = [];
      const told: string[] = [];
      transport.onClosing(({ code }) => {
        told.push(code);
        inner.push(transport.close());
      });
      transport.onClosing(() => {
        throw new Error('a fault of who was told');
      });
      const leave = transport.onClosing(() => told.push('who has left'));
      leave();
      driver.onClose = async () => {
        inner.push(transport.close());
        driver.context.events.connection('closed');
      };
      transport.events.on('connection', () => inner.push(transport.close()));
      const closes = [transport.close(), transport.close()];
      expect([transport.state, ...told]).to.deep.equal(['closing', 'ERR_TRANSPORT_CLOSED']);
      await Promise.all([...closes, ...inner]);
      expect(driver.asked).to.deep.equal(['connect', 'close']);
      expect(transport.state).to.equal('closed');
    });

    it('resolves on a transport that was never used, and refuses everything afterwards (CORE-02)', async () => {
      const { transport, driver } = scriptedTransport();
      await transport.close();
      const uses: (() => unknown)[] = [
        () => transport.connect(),
        () => transport.publish(TOPIC, wireMessage(), sendOptions()),
        () => transport.listen(SOURCE, { credit: 1 }, () => {}),
        () => transport.openReplyQueue(() => {}),
      ];
      for (const use of uses) {
        expect(await rejectionOf(Promise.resolve().then(use))).to.have.property(
          'code',
          'ERR_TRANSPORT_CLOSED',
        );
      }
      await transport.close();
      expect(driver.asked).to.deep.equal(['close']);
    });

    it('ends what waits for a driver that hangs (CORE-02)', async () => {
      const { transport, driver } = scriptedTransport();
      driver.onConnect = () => new Promise(() => {});
      const waiting = [
        rejectionOf(transport.connect()),
        rejectionOf(published(() => transport.publish(TOPIC, wireMessage(), sendOptions()))),
        rejectionOf(transport.listen(SOURCE, { credit: 1 }, () => {})),
      ];
      await turn();
      await transport.close();
      for (const each of waiting) expect(await each).to.have.property('code', 'ERR_TRANSPORT_CLOSED');
      expect([transport.pendingSends, ...driver.asked]).to.deep.equal([0, 'connect', 'close']);
    });

    it('ends a start that hangs, and closes the listener that comes too late (CORE-02)', async () => {
      const { transport, driver } = scriptedTransport();
      const answer = deferred<Listener>();
      driver.onListen = () => answer.promise;
      const server = new MessageServer(transport, SOURCE, new GatedHandler());
      const start = rejectionOf(server.start());
      await turn();
      const ends = [server.stop(), server.wait()].map(standOf);
      await transport.close();
      expect(await start).to.have.property('code', 'ERR_SERVER_LISTEN');
      await turn();
      expect(ends.map(({ is }) => is)).to.deep.equal(['resolved', 'resolved']);
      answer.resolve(driver.listener);
      await turn();
      expect(driver.listener.asked).to.deep.equal(['close']);
    });

    it('resolves when the driver fails to close, or never does, and reports that (CORE-11)', async () => {
      await onFakeClock(async (clock) => {
        for (const onClose of [() => Promise.reject(new Error('stuck')), () => new Promise<void>(() => {})]) {
          const log = new CapturedLog();
          const { transport, driver } = scriptedTransport({ logger: log });
          driver.onClose = onClose;
          const closed = transport.close();
          await clock.tickAsync(60_100);
          await closed;
          expect(transport.state).to.equal('closed');
          expect(log.at('error')).to.have.length(1);
        }
      });
    });
  });

  it('is not harmed by a logger that throws (AMQP-06)', async () => {
    const broken = (): void => {
      throw new Error('the disk is full');
    };
    const logger = { debug: broken, info: broken, warn: broken, error: broken };
    const { transport, driver } = scriptedTransport({ logger });
    const handler = { read: (): unknown => JSON.parse('{'), idOf: () => undefined, run: () => {} };
    const server = new MessageServer(transport, SOURCE, handler, { slots: 1 });
    await server.start();
    expect(driver.listener.deliver().settled).to.deep.equal(['reject']);
    driver.context.events.error(new Error('lost'));
    driver.context.events.connection('disconnected', new Error('lost'));
    expect(server.running).to.equal(0);
  });

  it('is not harmed by a logger that rejects (AMQP-06, CORE-11)', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', onUnhandled);
    try {
      const broken = (): Promise<never> => Promise.reject(new Error('the disk is full'));
      const logger = { debug: broken, info: broken, warn: broken, error: broken };
      const { driver } = scriptedTransport({ logger });
      driver.context.events.error(new Error('lost'));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', onUnhandled);
      for (const listener of others) process.on('unhandledRejection', listener);
    }
  });
});
