import { launch, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, FakeServer, fakeParts, RecordingLogger } from './fakes.js';

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'resolved',
    (error: unknown) => (error as { code?: string }).code ?? (error as Error).message, // thrown by our own parts
  );
}

describe('start of a service', () => {
  it('is: initHost, ops server, new-request server, first report, then ready (COMP-01, COMP-09)', async () => {
    const calls: string[] = [];
    const service = new Service(fakeParts(calls));
    service.events.on('state', ({ state }) => calls.push(state));
    await Promise.all([service.start(), service.start()]);
    expect(calls).to.deep.equal([
      'starting',
      'initHost',
      'ops start',
      'new-request start',
      'report running',
      'running',
    ]);
    await service.drain('end');
  });

  it('is not over before the first report is out, however often that fails (COMP-09)', async () => {
    let reports = 0;
    const logger = new RecordingLogger();
    const parts = fakeParts();
    const reportState = (): void => {
      reports += 1;
      if (reports < 3) throw new Error('nobody there');
    };
    const service = new Service({ ...parts, logger, manager: { reportState }, reportIntervalMs: 20 });
    await service.start();
    expect(reports).to.equal(3);
    expect(logger.texts().filter((text) => text.includes('report'))).to.deep.equal([
      'The state report fails; it is tried again',
      'The state report works again',
    ]);
    await service.drain('end');
  });

  it('that fails closes what it had opened, cleans up, and rejects with the first error', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    parts.newRequestServer.behaviours.start = 'rejects';
    parts.opsServer.behaviours.stop = 'rejects';
    const service = new Service(parts);
    expect(await codeOf(service.start())).to.equal('new-request start rejected');
    expect(calls).to.include.members(['ops stop', 'ops wait', 'cleanupHost', 'onExit']);
    expect(calls).to.not.include('report exited'); // there was no first report
    const report = await service.exited;
    expect(report.outcome).to.equal('start-failed');
    expect(await codeOf(service.start())).to.equal('new-request start rejected');
    expect(service.state).to.equal('exited');
  });

  it('ends cleanly when a drain comes while initHost runs: nothing begins any more, then clean-up (GS-104)', async () => {
    const calls: string[] = [];
    const began = deferred();
    const initHost = (signal: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => {
        began.resolve();
        signal.addEventListener('abort', () => {
          calls.push('initHost stops');
          reject(new Error('stopped'));
        });
      });
    const parts = fakeParts(calls);
    const service = new Service({ ...parts, manager: { ...parts.manager, initHost } });
    const started = codeOf(service.start());
    await began.promise;
    const report = await service.drain('SIGTERM');
    expect(await started).to.equal('ERR_DRAINING');
    expect(calls).to.have.members([
      'new-request stop',
      'initHost stops',
      'ops stop',
      'cleanupHost',
      'new-request wait',
      'ops wait',
      'onExit',
    ]);
    expect(calls.indexOf('initHost stops')).to.be.lessThan(calls.indexOf('cleanupHost'));
    expect(report.outcome).to.equal('clean');
  });

  it('waits for an initHost that does not stop before it cleans up, within the budget for tasks (GS-104)', async () => {
    const calls: string[] = [];
    const began = deferred();
    const end = deferred();
    const initHost = async (): Promise<void> => {
      began.resolve();
      await end.promise;
      calls.push('initHost ends');
    };
    const parts = fakeParts(calls);
    const service = new Service({ ...parts, manager: { ...parts.manager, initHost } });
    const started = codeOf(service.start());
    await began.promise;
    const drained = service.drain('SIGTERM');
    expect(await started).to.equal('ERR_DRAINING');
    setImmediate(() => end.resolve());
    expect((await drained).outcome).to.equal('clean');
    expect(calls.indexOf('initHost ends')).to.be.within(0, calls.indexOf('cleanupHost'));
  });

  it('counts an initHost that does not end at all as work left (GS-104, COMP-04)', async () => {
    const calls: string[] = [];
    const began = deferred();
    const initHost = (): Promise<void> => {
      began.resolve();
      return new Promise(() => undefined);
    };
    const parts = fakeParts(calls);
    const service = new Service({ ...parts, manager: { ...parts.manager, initHost } });
    const started = codeOf(service.start());
    await began.promise;
    expect(await service.drain('SIGTERM')).to.deep.include({
      outcome: 'unfinished',
      problems: ['initHost did not end in its time'],
    });
    expect(await started).to.equal('ERR_DRAINING');
    expect(calls).to.include('cleanupHost');
  });

  it('ends cleanly, and soon, when a drain comes while a server cannot be reached (GS-104)', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    const began = deferred();
    parts.opsServer.behaviours.start = () => {
      began.resolve();
      return new Promise(() => undefined);
    };
    parts.opsServer.behaviours.stop = 'hangs'; // it waits for the start to end
    parts.opsServer.behaviours.wait = 'hangs';
    const service = new Service(parts);
    const started = codeOf(service.start());
    await began.promise;
    const report = await service.drain('SIGTERM');
    expect(await started).to.equal('ERR_DRAINING');
    expect(calls).to.not.include('new-request start');
    expect(calls).to.include('cleanupHost');
    const stops = report.steps.filter(({ name }) => name.startsWith('stop-'));
    expect(stops.map(({ outcome }) => outcome)).to.deep.equal(['done', 'not-waited']);
    expect(report).to.deep.include({ outcome: 'clean', problems: [] });
  });

  it('does not happen after a drain that came first, which cleans up and is clean (GS-104)', async () => {
    const calls: string[] = [];
    const service = new Service(fakeParts(calls));
    const report = await service.drain('SIGTERM');
    expect(report.outcome).to.equal('clean');
    expect(calls).to.include('cleanupHost');
    expect(await codeOf(service.start())).to.equal('ERR_DRAINING');
    for (const begun of ['initHost', 'ops start', 'new-request start']) expect(calls).to.not.include(begun);
  });

  it('refuses options that are wrong, naming them (CORE-09)', () => {
    const newRequestServer = new FakeServer('new-request');
    expect(() => new Service({ name: '', host: 'a', newRequestServer })).to.throw('name of a service');
    expect(() => new Service({ name: 'a', host: 'a', newRequestServer, reportIntervalMs: 0 })).to.throw(
      'reportIntervalMs',
    );
    const misspelt = { name: 'a', host: 'a', newRequestServer, opServer: newRequestServer };
    expect(() => new Service(misspelt)).to.throw('"opServer"');
    const options: object = { onreload: () => undefined };
    expect(() => launch(new Service(fakeParts()), options)).to.throw('"onreload"');
    const periodic = [{ name: 'sync', intervalMs: NaN, run: () => undefined }];
    expect(() => new Service({ name: 'a', host: 'a', newRequestServer, manager: { periodic } })).to.throw(
      '"sync"',
    );
  });
});
