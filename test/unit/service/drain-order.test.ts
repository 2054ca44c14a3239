import { Service, type StepEvent, type StepName } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { FakeServer, fakeParts } from './fakes.js';

const STOPS = [
  'new-request stop',
  'ops stop',
  'cleanupHost',
  'new-request wait',
  'ops wait',
  'report exited',
  'onExit',
];

function stepsOf(service: Service): StepEvent[] {
  const events: StepEvent[] = [];
  service.events.on('step', (event) => events.push(event));
  return events;
}

describe('order of a drain', () => {
  it('is: new requests, tasks, ops, clean-up, both waits, last report, exit (GS-32, GS-34, GS-36, GS-37, COMP-01)', async () => {
    const calls: string[] = [];
    const service = new Service(fakeParts(calls));
    await service.start();
    calls.length = 0;
    const report = await service.drain('SIGTERM');
    expect(calls.filter((call) => call !== 'report draining')).to.deep.equal(STOPS);
    const names: StepName[] = [
      'stop-new-request',
      'tasks',
      'stop-ops',
      'ops-tasks',
      'cleanup',
      'closing',
      'last-report',
      'on-exit',
    ];
    expect(report.steps.map(({ name }) => name)).to.deep.equal(names);
    expect(report).to.include({ outcome: 'clean', reason: 'SIGTERM' });
    expect(service.state).to.equal('exited');
  });

  it('starts with stopping new requests while ops serves; ops stops only when the tasks have ended (GS-31, GS-32, GS-35, COMP-01)', async () => {
    const calls: string[] = [];
    const service = new Service(fakeParts(calls));
    await service.start();
    const task = service.registry.open({ name: 'live_migration' });
    const tasksStep = new Promise<void>((resolve) => {
      service.events.on('step', ({ name, phase }) => {
        if (name === 'tasks' && phase === 'started') resolve();
      });
    });
    const drained = service.drain('SIGTERM');
    await tasksStep;
    expect(calls).to.include('new-request stop');
    expect(calls).to.not.include('ops stop');
    task.end();
    await drained;
    expect(calls).to.include('ops stop');
  });

  it('waits again for what the ops server had fetched (GS-13, GS-32, COMP-02)', async () => {
    const calls: string[] = [];
    const parts = fakeParts(calls);
    const service = new Service(parts);
    parts.opsServer.behaviours.stop = async () => {
      const task = service.registry.open({ name: 'post_live_migration' }); // fetched before, begun now
      setImmediate(() => {
        calls.push('fetched task ends');
        task.end();
      });
    };
    await service.start();
    const report = await service.drain('SIGTERM');
    expect(calls.indexOf('fetched task ends')).to.be.greaterThan(calls.indexOf('ops stop'));
    expect(calls.indexOf('fetched task ends')).to.be.lessThan(calls.indexOf('cleanupHost'));
    expect(report).to.include({ outcome: 'clean', completed: 1 });
  });

  it('works without an ops server (GS-37, COMP-01)', async () => {
    const calls: string[] = [];
    const service = new Service({ ...fakeParts(calls), opsServer: undefined });
    await service.start();
    calls.length = 0;
    const report = await service.drain('SIGTERM');
    const expected = STOPS.filter((call) => !call.startsWith('ops'));
    expect(calls.filter((call) => call !== 'report draining')).to.deep.equal(expected);
    expect(report.outcome).to.equal('clean');
  });

  it('needs neither manager, journal nor exit hook', async () => {
    const service = new Service({
      name: 'worker',
      host: 'a',
      newRequestServer: new FakeServer('new-request'),
    });
    await service.start();
    expect((await service.drain('SIGTERM')).outcome).to.equal('clean');
  });

  for (const how of ['throws', 'rejects'] as const) {
    it(`goes through every step when every step ${how} (GS-84, GS-105, COMP-04)`, async () => {
      const calls: string[] = [];
      const parts = fakeParts(calls);
      const service = new Service({
        ...parts,
        manager: {
          cleanupHost: () => {
            calls.push('cleanupHost');
            throw new Error('rabbit://user:hunter2@host/ is gone');
          },
          reportState: ({ state }) => {
            calls.push(`report ${state}`);
            if (state === 'exited') throw new Error('no report');
          },
        },
        onExit: () => {
          calls.push('onExit');
          throw new Error('no exit');
        },
      });
      await service.start();
      for (const server of [parts.newRequestServer, parts.opsServer]) {
        server.behaviours.stop = how;
        server.behaviours.wait = how;
      }
      calls.length = 0;
      const report = await service.drain('SIGTERM');
      expect(calls.filter((call) => call !== 'report draining')).to.deep.equal(STOPS);
      expect(report.outcome).to.equal('unfinished');
      const failed = report.steps.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
      expect(failed).to.deep.equal(['stop-new-request', 'stop-ops', 'cleanup', 'last-report', 'on-exit']);
      expect(report.problems.join())
        .to.include('new-request server: Error: new-request wait')
        .and.include('ops server');
      expect(JSON.stringify(report)).to.not.include('hunter2'); // SEC-04
    });
  }

  it('is told step by step, with times (COMP-04)', async () => {
    const service = new Service(fakeParts());
    const events = stepsOf(service);
    await service.start();
    const report = await service.drain('SIGTERM');
    expect(events.map(({ phase }) => phase)).to.deep.equal(
      report.steps.flatMap(() => ['started', 'finished']),
    );
    const finished = events.filter((event) => event.phase === 'finished');
    expect(finished.map(({ phase: _phase, ...step }) => step)).to.deep.equal(report.steps);
    for (const { durationMs, limitMs, startedMs } of report.steps) {
      expect(durationMs).to.be.at.least(0);
      expect(limitMs).to.be.greaterThan(0);
      expect(startedMs).to.be.at.most(report.durationMs + 1);
    }
  });

  it('happens once, whoever asks and however often; the first reason counts (COMP-20)', async () => {
    const calls: string[] = [];
    const service = new Service(fakeParts(calls));
    await service.start();
    calls.length = 0;
    service.events.on('state', () => void service.drain('from a listener'));
    const [first, second] = await Promise.all([service.drain('SIGTERM'), service.drain('again')]);
    expect(second).to.equal(first);
    expect(await service.drain('afterwards')).to.equal(first);
    expect(first.reason).to.equal('SIGTERM');
    expect(calls.filter((call) => call === 'cleanupHost')).to.have.length(1);
  });

  it('tells in the snapshot what goes on (COMP-02)', async () => {
    const service = new Service(fakeParts());
    await service.start();
    expect(service.snapshot()).to.include({
      state: 'running',
      ready: true,
      step: null,
      reason: null,
      budgetLeftMs: null,
    });
    const task = service.registry.open({ name: 'build', instance: 'i-1' });
    const snapshots: ReturnType<Service['snapshot']>[] = [];
    service.events.on('step', () => snapshots.push(service.snapshot()));
    const drained = service.drain('SIGTERM');
    const now = service.snapshot();
    expect(now).to.include({
      service: 'compute',
      host: 'a',
      state: 'draining',
      ready: false,
      reason: 'SIGTERM',
    });
    expect(now.budgetLeftMs).to.be.within(1, 300);
    expect(now.tasks.map(({ name, subject }) => `${name} ${subject ?? ''}`)).to.deep.equal(['build i-1']);
    task.end();
    await drained;
    expect(snapshots.map(({ step }) => step)).to.include.members([
      'stop-new-request',
      'tasks',
      'cleanup',
      'closing',
    ]);
    expect(service.snapshot()).to.include({ state: 'exited', step: null });
  });

  it('tells of tasks through the service, too', async () => {
    const service = new Service(fakeParts());
    const told: string[] = [];
    service.events.on('task', ({ phase, task }) => told.push(`${phase} ${task.name}`));
    service.events.on('task', ({ phase }) => told.push(phase));
    service.registry.open({ name: 'build' }).end();
    expect(told).to.deep.equal(['opened build', 'opened', 'ended build', 'ended']);
    await service.drain('end');
  });
});
