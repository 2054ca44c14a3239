import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Instance, MemoryRecords, Migration } from '@ebbgate/compute';
import { guardRecords } from '#compute/db/guarded-records.js';
import { RecordWatch } from '#compute/db/record-watch.js';

const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 };

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

describe('records of a run, and waiting for them', () => {
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
      () => guarded.services.get('compute', 'h'),
      () => guarded.services.update('compute', 'h', { forcedDown: true }),
      () => guarded.allocations.report('h', NOTHING),
      () => guarded.allocations.capacities(),
      () => guarded.allocations.claim('u', 'h', NOTHING),
      () => guarded.allocations.transfer('u', 'm'),
      () => guarded.allocations.release('u'),
      () => guarded.allocations.find({}),
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
