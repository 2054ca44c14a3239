import { install, type Clock } from '@sinonjs/fake-timers';
import { Service, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { fakeParts, RecordingLogger } from './fakes.js';

describe('what a drain logs of its tasks', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = install({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
  });
  afterEach(() => clock.uninstall());

  function make() {
    const logger = new RecordingLogger();
    const registry = new TaskRegistry();
    const service = new Service({
      ...fakeParts(),
      logger,
      registry,
      budgets: { managerShutdownTimeoutMs: 35_000 },
    });
    const tasks = (pattern: RegExp): string[] => logger.texts().filter((text) => pattern.test(text));
    return { logger, registry, service, tasks };
  }

  it('is nothing before it begins; then the list, each end, the rest every 10 s, and the totals (GS-96)', async () => {
    const { logger, registry, service, tasks } = make();
    await service.start();
    const [a, b] = [registry.open({ name: 'a', instance: 'i-1' }), registry.open({ name: 'b' })];
    registry.open({ name: 'before' }).end();
    expect(logger.texts()).to.deep.equal([]);

    const drained = service.drain('SIGTERM');
    expect(tasks(/running tasks/)).to.deep.equal(['Waiting for 2 running tasks']);
    const listed = logger.lines.find(({ text }) => text.startsWith('Waiting'))?.fields['tasks'];
    expect(listed).to.have.nested.property('[0].subject', 'i-1');
    await clock.tickAsync(9_999);
    expect(tasks(/Still waiting/)).to.deep.equal([]);
    await clock.tickAsync(2);
    expect(tasks(/Still waiting/)).to.deep.equal(['Still waiting for 2 tasks']);
    a.end();
    expect(tasks(/^Task /)).to.deep.equal(['Task a has completed']);
    registry.open({ name: 'late' }).end(new Error('no'));
    expect(tasks(/^Task late/)).to.deep.equal([
      'Task late has begun during the drain',
      'Task late has failed',
    ]);
    await clock.tickAsync(10_000);
    expect(tasks(/Still waiting/)).to.deep.equal(['Still waiting for 2 tasks', 'Still waiting for 1 tasks']);
    b.end();
    await clock.tickAsync(10);
    const report = await drained;
    expect(report).to.include({ outcome: 'clean', completed: 2, failed: 1 });
    expect(tasks(/^Tasks:/)).to.deep.equal(['Tasks: 2 completed, 1 failed, 0 aborted, 0 left']);
    const before = logger.lines.length;
    registry.open({ name: 'after' }).end();
    await clock.tickAsync(20_000);
    expect(logger.lines.length).to.equal(before);
  });

  it('lists what is left when the time for tasks is over, as a warning (GS-86, GS-96, COMP-04)', async () => {
    const { logger, registry, service, tasks } = make();
    await service.start();
    registry.open({ name: 'endless', instance: 'i-9' });
    const drained = service.drain('SIGTERM');
    await clock.tickAsync(35_100);
    await drained;
    expect(tasks(/time for tasks is over/)).to.deep.equal([
      'The time for tasks is over: 1 are still running',
    ]);
    const line = logger.lines.find(({ text }) => text.startsWith('The time for tasks'));
    expect(line?.level).to.equal('warn');
    expect(line?.fields).to.have.nested.property('tasks[0].subject', 'i-9');
    expect(tasks(/^Tasks:/)).to.deep.equal(['Tasks: 0 completed, 0 failed, 0 aborted, 1 left']);
  });
});
