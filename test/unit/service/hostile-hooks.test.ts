import type { Logger } from '@ebbgate/core';
import { launch, type Manager, Service, type ServiceOptions, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, FakeServer, fakeParts, RecordingLogger } from './fakes.js';

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

/** Things that cannot be made text, looked at or told apart. */
function oddities(): [string, unknown][] {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const symbolText = new Error('x');
  Object.defineProperty(symbolText, 'message', { value: Symbol('message') });
  return [
    ['an object without a prototype', Object.create(null)],
    ['a revoked proxy', proxy],
    ['an error whose text is a symbol', symbolText],
    ['a symbol', Symbol('s')],
    ['nothing', undefined],
  ];
}

const HOOKS: readonly [string, (thrown: unknown) => Partial<ServiceOptions>, string][] = [
  ['cleanupHost', (thrown) => ({ manager: { cleanupHost: throwing(thrown) } }), 'cleanup failed'],
  ['the journal', (thrown) => ({ journal: { write: throwing(thrown) } }), 'journal failed'],
  ['onExit', (thrown) => ({ onExit: throwing(thrown) }), 'on-exit failed'],
];

async function drained(options: Partial<ServiceOptions>): Promise<readonly string[]> {
  const registry = new TaskRegistry();
  registry.open({ name: 'left' });
  const service = new Service({ ...fakeParts(), ...options, registry });
  await service.start();
  return (await service.drain('end')).problems;
}

describe('hooks of a service', () => {
  for (const [hook, options, problem] of HOOKS) {
    it(`let the drain end, whatever ${hook} throws (GS-105, COMP-03)`, async () => {
      for (const [what, thrown] of oddities()) {
        expect((await drained(options(thrown))).join('\n'), what).to.contain(problem);
      }
    });
  }

  it('let a start that fails end, and tell the first error, whatever initHost throws (CORE-02)', async () => {
    for (const [what, thrown] of oddities()) {
      const service = new Service({ ...fakeParts(), manager: { initHost: throwing(thrown) } });
      const told = await service.start().then(
        () => [],
        (error: unknown) => [error], // in a list: a promise of it would look at it
      );
      expect(told.length === 1 && told[0] === thrown, what).to.equal(true);
      expect((await service.exited).outcome, what).to.equal('start-failed');
    }
  });

  it('go on, whatever reports and periodic tasks throw (COMP-06, COMP-10)', async () => {
    for (const [what, thrown] of oddities()) {
      const again = deferred();
      let reports = 0;
      let runs = 0;
      const count = (): void => {
        if (reports > 2 && runs > 1) again.resolve();
      };
      const manager: Manager = {
        reportState: ({ state }) => {
          reports += 1;
          count();
          if (state === 'running' && reports > 1) throw thrown;
        },
        periodic: [
          {
            name: 'odd',
            intervalMs: 1,
            run: () => {
              runs += 1;
              count();
              throw thrown;
            },
          },
        ],
      };
      const service = new Service({ ...fakeParts(), manager, reportIntervalMs: 5 });
      await service.start();
      await again.promise;
      expect((await service.drain('end')).outcome, what).to.equal('clean');
    }
  });

  const broken = (log: () => unknown): Logger => ({ debug: log, info: log, warn: log, error: log }); // an async method fits the type as well

  it('let the drain go on when the logger throws or rejects (AMQP-06, CORE-11)', async () => {
    const loggers = [
      broken(throwing(new Error('no disk'))),
      broken(() => Promise.reject(new Error('no disk'))),
    ];
    for (const logger of loggers) {
      const registry = new TaskRegistry({ logger });
      registry.events.on('opened', throwing(new Error('a listener')));
      const service = new Service({ ...fakeParts(), registry, logger });
      service.events.on('state', throwing(new Error('a listener')));
      const launched = launch(service, { signals: [], logger, exit: () => undefined });
      registry.open({ name: 'task' }).end();
      launched.terminate('SIGHUP');
      launched.terminate('SIGTERM');
      expect(await launched.done).to.equal(0);
    }
  });

  it('that make no service are a start that failed, and told of (GS-104)', async () => {
    for (const made of [undefined, null, 5, {}]) {
      const logger = new RecordingLogger();
      const factory = (): Service => made as Service; // as from a caller without types
      expect(await launch(factory, { signals: [], logger, exit: () => undefined }).done).to.equal(1);
      expect(logger.texts('error')).to.deep.equal(['The service could not be made']);
    }
  });

  it('are refused at once when they are of a wrong type (CORE-09)', () => {
    const wrong: readonly [keyof ServiceOptions, unknown][] = [
      ['logger', {}],
      ['newRequestServer', undefined],
      ['newRequestServer', 5],
      ['opsServer', new FakeServer('ops').stop],
      ['registry', {}],
      ['journal', 'journal'],
      ['reportIntervalMs', '10'],
    ];
    for (const [name, value] of wrong) {
      const options = { ...fakeParts(), [name]: value } as unknown as ServiceOptions; // as from a caller without types
      expect(() => new Service(options), name)
        .to.throw(name)
        .with.property('code', 'ERR_CONFIGURATION');
    }
    const logger = { info: () => undefined } as unknown as Logger; // likewise
    expect(() => new TaskRegistry({ logger })).to.throw('debug');
    expect(() => launch(new Service(fakeParts()), { logger })).to.throw('debug');
  });

  it('that log once are not told twice (COMP-10)', async () => {
    const logger = new RecordingLogger();
    await drained({ logger, manager: { cleanupHost: throwing(Object.create(null)) } });
    expect(logger.texts().filter((text) => text === 'Drain: cleanup failed')).to.have.length(1);
  });
});
