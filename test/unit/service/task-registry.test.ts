import { RequestContext, runWithContext } from '@ebbgate/core';
import { type TaskEvents, type TaskRecord, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import { deferred, RecordingLogger } from './fakes.js';

describe('task registry', () => {
  it('records name, kind, subject, request id, age and progress (GS-95, COMP-02)', () => {
    let now = 1000;
    const registry = new TaskRegistry({ clock: () => now });
    registry.open({
      name: 'build',
      kind: 'background',
      instance: 'i-1',
      requestId: 'req-1',
      progress: () => 0.5,
    });
    now = 1250;
    expect(registry.snapshot()).to.deep.equal([
      {
        id: 1,
        name: 'build',
        kind: 'background',
        subject: 'i-1',
        requestId: 'req-1',
        ageMs: 250,
        progress: 0.5,
      },
    ]);
  });

  it('takes the request id of the request being served (GS-95)', () => {
    const registry = new TaskRegistry();
    runWithContext(new RequestContext({ request_id: 'req-7' }), () => registry.open({ name: 'snapshot' }));
    registry.open({ name: 'other' });
    expect(registry.snapshot().map(({ requestId }) => requestId)).to.deep.equal(['req-7', null]);
  });

  it('shows a task whose progress cannot be told, and one about nothing (GS-95)', () => {
    const registry = new TaskRegistry();
    const progress = (): number => {
      throw new Error('not now');
    };
    registry.open({ name: 'a', instance: null, progress });
    expect(registry.snapshot()[0]).to.include({ subject: null, progress: null });
  });

  it('counts what completed and what failed, each task once (GS-98)', () => {
    const registry = new TaskRegistry();
    const [a, b] = [registry.open({ name: 'a' }), registry.open({ name: 'b' })];
    a.end();
    a.end(new Error('too late to fail'));
    b.end(new Error('no'));
    b.end();
    expect(registry.counts).to.deep.equal({ opened: 2, completed: 1, failed: 1, aborted: 0 });
    expect(registry.size).to.equal(0);
  });

  it('ends a tracked task with its promise: kept, rejected, thrown, cancelled (GS-98)', async () => {
    const registry = new TaskRegistry();
    expect(await registry.track('kept', () => Promise.resolve(7))).to.equal(7);
    const failures: (() => Promise<unknown>)[] = [
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('at once');
      },
      () => Promise.reject(AbortSignal.abort().reason),
      () => Promise.reject(undefined),
    ];
    const seen: string[] = [];
    for (const work of failures) {
      await registry.track({ name: 'work' }, work).catch((error: unknown) => seen.push(String(error)));
    }
    expect(seen).to.have.length(4);
    expect(registry.counts).to.deep.equal({ opened: 5, completed: 1, failed: 4, aborted: 0 });
    expect(registry.size).to.equal(0);
  });

  it('has a task from its first moment (COMP-02)', async () => {
    const registry = new TaskRegistry();
    let during = -1;
    const done = registry.track('work', () => {
      during = registry.size;
      return Promise.resolve();
    });
    expect(during).to.equal(1);
    await done;
  });

  it('keeps an operation open from one request to another (GS-95, COMP-02)', () => {
    const registry = new TaskRegistry();
    registry.openOperation('m-1', { name: 'live_migration_at_dest', instance: 'i-1' });
    expect(registry.snapshot()[0]).to.include({ kind: 'operation', subject: 'i-1' });
    expect(registry.closeOperation('m-1')).to.equal(true);
    expect(registry.closeOperation('m-1')).to.equal(false);
    expect(registry.counts).to.include({ completed: 1, failed: 0 });
  });

  it('counts an operation that ended with an error as failed (GS-98)', () => {
    const registry = new TaskRegistry();
    registry.openOperation('m-1', { name: 'resize' });
    registry.closeOperation('m-1', new Error('source failed'));
    expect(registry.counts).to.include({ completed: 0, failed: 1 });
  });

  it('loses no record when the same operation is opened twice: both end when it is over (COMP-02)', () => {
    const registry = new TaskRegistry();
    registry.openOperation('i-1', { name: 'prep_resize' });
    registry.openOperation('i-1', { name: 'prep_resize' });
    expect(registry.size).to.equal(2);
    registry.closeOperation('i-1');
    expect(registry.size).to.equal(0);
  });

  it('ends one of two operations under a key by its handle, and leaves the other (COMP-02)', () => {
    const registry = new TaskRegistry();
    const first = registry.openOperation('i-1', { name: 'prep_resize' });
    registry.openOperation('i-1', { name: 'prep_resize' });
    first.end(new Error('tried again'));
    expect(registry.snapshot().map(({ id }) => id)).to.deep.equal([2]);
    expect(registry.closeOperation('i-1')).to.equal(true);
    expect(registry.counts).to.deep.equal({ opened: 2, completed: 1, failed: 1, aborted: 0 });
  });

  it('keeps the others in their order, whichever ends (COMP-02)', () => {
    const registry = new TaskRegistry();
    const names = (): string[] => registry.snapshot().map(({ name }) => name);
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => registry.open({ name }));
    b?.end();
    expect(names()).to.deep.equal(['a', 'c', 'd']);
    d?.end();
    registry.open({ name: 'e' });
    a?.end();
    a?.end();
    expect(names()).to.deep.equal(['c', 'e']);
    c?.end();
    expect([...names(), registry.size]).to.deep.equal(['e', 1]);
  });

  it('keeps keys from the wire apart from everything else (SEC-06)', () => {
    const registry = new TaskRegistry();
    expect(registry.closeOperation('__proto__')).to.equal(false);
    expect(registry.closeOperation('constructor')).to.equal(false);
    registry.openOperation('__proto__', { name: 'x'.repeat(5000) });
    expect(registry.snapshot()[0]?.name).to.have.length(200);
    expect(registry.closeOperation('__proto__')).to.equal(true);
  });

  it('tells the moment when the last task ends, without looking again and again (GS-71, COMP-02)', async () => {
    const registry = new TaskRegistry();
    await registry.whenIdle();
    const [a, b] = [registry.open({ name: 'a' }), registry.open({ name: 'b' })];
    let idle = false;
    void Promise.all([registry.whenIdle(), registry.whenIdle()]).then(() => (idle = true));
    a.end();
    await turn();
    expect(idle).to.equal(false);
    b.end();
    await turn();
    expect(idle).to.equal(true);
    const again = registry.open({ name: 'c' });
    const later = deferred();
    void registry.whenIdle().then(later.resolve);
    again.end();
    await later.promise;
    expect(registry.size).to.equal(0);
  });

  it('tells of tasks that begin and end, and survives a listener that throws', () => {
    const logger = new RecordingLogger();
    const registry = new TaskRegistry({ logger });
    const ended: TaskEvents['ended'][] = [];
    const opened: string[] = [];
    registry.events.on('ended', () => {
      throw new Error('postgres://user:hunter2@db/ is gone');
    });
    registry.events.on('opened', (task) => opened.push(task.name));
    registry.events.on('ended', (event) => ended.push(event));
    registry.open({ name: 'a' }).end(new Error('no'));
    expect(opened).to.deep.equal(['a']);
    expect(ended[0]).to.include({ failed: true, left: 0 });
    expect(JSON.stringify(logger.lines)).to.include('postgres://***@db/').and.not.include('hunter2');
  });

  it('says nothing while nobody drains (GS-96)', async () => {
    const logger = new RecordingLogger();
    const registry = new TaskRegistry({ logger });
    await registry.track('a', () => Promise.resolve());
    registry.open({ name: 'b' }).end(new Error('no'));
    expect(logger.lines).to.deep.equal([]);
  });

  it('shows tasks whatever was told of them, so that nobody who looks is harmed (COMP-02)', () => {
    const registry = new TaskRegistry();
    const odd: readonly object[] = [
      { name: 5, instance: 7n, requestId: 8 },
      { name: undefined, instance: {}, requestId: ['r'], kind: 'other' },
      { name: 'a', instance: Symbol('i'), kind: 10n, progress: () => 1n },
      { name: 'b', progress: () => NaN },
      { name: 'c', progress: () => registry },
    ];
    for (const record of odd) registry.open(record as TaskRecord); // as from a caller without types
    const shown = registry.snapshot();
    expect(() => JSON.stringify(shown)).to.not.throw();
    expect(shown.map(({ name }) => name)).to.deep.equal(['5', 'a task without a name', 'a', 'b', 'c']);
    expect(shown.map(({ subject }) => subject)).to.deep.equal(['7', null, null, null, null]);
    expect(shown.map(({ requestId }) => requestId)).to.deep.equal(['8', null, null, null, null]);
    expect(new Set(shown.map(({ kind }) => kind))).to.deep.equal(new Set(['background']));
    expect(new Set(shown.map(({ progress }) => progress))).to.deep.equal(new Set([null]));
  });
});
