import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  Instance,
  MemoryRecords,
  Migration,
  RecordNotFoundError,
  UnexpectedStateError,
} from '@ebbgate/compute';
import { guardRecords } from '#compute/db/guarded-records.js';
import { RecordWatch } from '#compute/db/record-watch.js';

function newRecords(): MemoryRecords {
  return new MemoryRecords((error) => {
    throw error;
  });
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('records in memory', () => {
  it('gives copies out and takes copies in', async () => {
    const { instances } = newRecords();
    const mine = Instance.create({ uuid: 'u', vm_state: 'active', task_state: null, metadata: { a: '1' } });
    const created = await instances.create(mine);
    mine.update({ vm_state: 'error' });
    created.update({ vm_state: 'stopped' });
    const read = await instances.get('u');
    expect(read.get('vm_state')).to.equal('active');
    expect(read.changes).to.deep.equal([]);
  });

  it('numbers records, and stamps creation and change', async () => {
    const { migrations } = newRecords();
    await migrations.create(Migration.create({ uuid: 'a' }));
    const second = await migrations.create(Migration.create({ uuid: 'b' }));
    expect(second.get('id')).to.equal(2);
    expect(second.get('created_at')).to.be.instanceOf(Date);
    expect((await migrations.update('b', {})).get('updated_at')).to.be.instanceOf(Date);
  });

  it('writes only from an expected state, so that one of two writers loses', async () => {
    const { instances } = newRecords();
    await instances.create(Instance.create({ uuid: 'u', vm_state: 'active', task_state: null }));
    const claim = (task: 'migrating' | 'spawning') =>
      instances.update('u', { task_state: task }, { task_state: [null], vm_state: ['active', 'paused'] });
    const results = await Promise.allSettled([claim('migrating'), claim('spawning')]);
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected']);
    expect((await instances.get('u')).get('task_state')).to.equal('migrating');
    const error = await errorOf(claim('spawning'));
    expect(error).to.be.instanceOf(UnexpectedStateError).with.property('code', 'ERR_UNEXPECTED_STATE');
    expect(error).to.have.property('message').that.contains('task_state is migrating, expected null');
  });

  it('finds by fields, and says when there is nothing', async () => {
    const { instances } = newRecords();
    for (const [uuid, host] of [
      ['a', 'h1'],
      ['b', 'h2'],
      ['c', 'h1'],
    ] as const) {
      await instances.create(Instance.create({ uuid, host }));
    }
    const found = await instances.find({ host: 'h1' });
    expect(found.map((one) => one.get('uuid'))).to.deep.equal(['a', 'c']);
    expect(await errorOf(instances.get('z'))).to.be.instanceOf(RecordNotFoundError);
    expect(await errorOf(instances.create(Instance.create({ uuid: 'a' })))).to.be.instanceOf(
      UnexpectedStateError,
    );
  });

  it('keeps the last report of each service', async () => {
    const { services } = newRecords();
    await services.report({ binary: 'compute', host: 'b', state: 'running', reportedAtMs: 1 });
    await services.report({ binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 });
    await services.report({ binary: 'compute', host: 'b', state: 'draining', reportedAtMs: 2 });
    await services.report({ binary: 'conductor', host: 'c', state: 'running', reportedAtMs: 2 });
    const listed = await services.list('compute');
    expect(listed.map(({ host, state }) => `${host} ${state}`)).to.deep.equal(['a running', 'b draining']);
  });

  it('refuses everything to a run that has ended', async () => {
    const records = newRecords();
    const end = new AbortController();
    const guarded = guardRecords(records, end.signal);
    await guarded.instances.create(Instance.create({ uuid: 'u', vm_state: 'active' }));
    end.abort();
    for (const work of [
      () => guarded.instances.get('u'),
      () => guarded.instances.find({}),
      () => guarded.instances.update('u', { vm_state: 'error' }),
      () => guarded.migrations.create(Migration.create({ uuid: 'm' })),
      () => guarded.services.list('compute'),
      () => guarded.services.report({ binary: 'compute', host: 'h', state: 'running', reportedAtMs: 0 }),
    ]) {
      expect(await errorOf(work())).to.have.property('code', 'ERR_ABORTED');
    }
    expect((await records.instances.get('u')).get('vm_state')).to.equal('active');
  });

  it('tells whoever waits of a state, be it there already or to come, and gives up in time', async () => {
    const records = newRecords();
    const watch = new RecordWatch(records);
    await records.instances.create(Instance.create({ uuid: 'u', vm_state: 'building' }));
    const isActive = (instance: Instance): boolean => instance.get('vm_state') === 'active';
    const active = watch.instance('u', isActive, { timeoutMs: 1000 });
    await records.instances.update('u', { vm_state: 'active' });
    expect((await active).get('uuid')).to.equal('u');
    expect((await watch.instance('u', isActive, { timeoutMs: 1000 })).get('uuid')).to.equal('u');
    expect(await errorOf(watch.instance('u', () => false, { timeoutMs: 1 }))).to.have.property(
      'code',
      'ERR_TIMEOUT',
    );
  });
});
