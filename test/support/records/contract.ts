import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  Flavor,
  Instance,
  Migration,
  NovaObject,
  RecordNotFoundError,
  type Records,
  type Resources,
  type ServiceChanges,
  UnexpectedStateError,
} from '@ebbgate/compute';

/** Gives empty records to `work`, and ends them. */
export type WithRecords = (work: (records: Records) => Promise<void>) => Promise<void>;

const SMALL: Resources = { vcpus: 1, memoryMb: 512, diskGb: 10 };
const HOST: Resources = { vcpus: 4, memoryMb: 2048, diskGb: 100.5 };

export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

const uuids = (found: readonly { get(field: 'uuid'): string }[]): readonly string[] =>
  found.map((one) => one.get('uuid'));

/** What all records do, wherever they are kept. */
export function recordsContract(where: string, withRecords: WithRecords): void {
  describe(`records ${where}`, function () {
    this.timeout(20_000);
    describeObjects(withRecords);
    describeUpdates(withRecords);
    describeServices(withRecords);
    describeAllocations(withRecords);
  });
}

function describeObjects(withRecords: WithRecords): void {
  it('give copies out and take copies in', () =>
    withRecords(async ({ instances }) => {
      const mine = Instance.create({ uuid: 'u', vm_state: 'active', task_state: null, metadata: { a: '1' } });
      const created = await instances.create(mine);
      mine.update({ vm_state: 'error' });
      created.update({ vm_state: 'stopped' });
      const read = await instances.get('u');
      expect([read.get('vm_state'), read.get('metadata')['a'], read.changes]).to.deep.equal([
        'active',
        '1',
        [],
      ]);
    }));

  it('number records in the order of their creation, and stamp them', () =>
    withRecords(async ({ migrations }) => {
      const first = await migrations.create(Migration.create({ uuid: 'b' }));
      const second = await migrations.create(Migration.create({ uuid: 'a' }));
      expect(second.get('id')).to.be.greaterThan(first.get('id'));
      expect(second.get('created_at')).to.be.instanceOf(Date);
      const given = new Date('2020-02-02T02:02:02Z');
      const third = await migrations.create(Migration.create({ uuid: 'c', created_at: given }));
      expect(third.get('created_at')).to.deep.equal(given);
      expect((await migrations.update('b', {})).get('updated_at')).to.be.instanceOf(Date);
      expect(uuids(await migrations.find({}))).to.deep.equal(['b', 'a', 'c']);
      expect(uuids(await migrations.find({ id: second.get('id') }))).to.deep.equal(['a']);
    }));

  it('keep objects whole: what is unset, null, nested, unknown or of a newer version (COMP-05)', () =>
    withRecords(async ({ instances }) => {
      const flavor = Flavor.create({
        name: 'm1.small',
        vcpus: 1,
        extra_specs: { 'hw:cpu_policy': 'shared' },
      });
      const newer = new NovaObject(
        { name: 'Instance', namespace: 'nova', version: '2.19' },
        Object.entries({
          uuid: 'u',
          host: null,
          flavor,
          launched_at: new Date('2026-11-29T10:00:00Z'),
          shiny: [1, { a: null }],
        }),
      );
      if (!Instance.is(newer)) throw new Error('it is one');
      await instances.create(newer);
      const read = await instances.get('u');
      expect(read.identity).to.deep.equal({ name: 'Instance', namespace: 'nova', version: '2.19' });
      expect([read.has('host'), read.find('host'), read.has('node')]).to.deep.equal([true, null, false]);
      expect(read.get('flavor').get('extra_specs')['hw:cpu_policy']).to.equal('shared');
      expect(read.get('flavor').has('swap')).to.equal(false);
      expect(read.get('launched_at')).to.deep.equal(new Date('2026-11-29T10:00:00Z'));
      expect(JSON.stringify(new Map(read.entries()).get('shiny'))).to.equal('[1,{"a":null}]');
      const changed = await instances.update('u', { node: null, vm_state: 'active' });
      expect([changed.has('node'), changed.find('node')]).to.deep.equal([true, null]);
      expect(JSON.stringify(new Map(changed.entries()).get('shiny'))).to.equal('[1,{"a":null}]');
      expect(uuids(await instances.find({ node: null }))).to.deep.equal(['u']);
      expect(uuids(await instances.find({ task_state: null }))).to.deep.equal([]); // unset is not null
    }));

  it('find by any fields, with a column or without', () =>
    withRecords(async ({ instances }) => {
      for (const [uuid, host, memory_mb] of [
        ['a', 'h1', 512],
        ['b', 'h2', 512],
        ['c', 'h1', 1024],
        ['d', null, 512],
      ] as const)
        await instances.create(Instance.create({ uuid, host, memory_mb, task_state: null }));
      expect(uuids(await instances.find({ host: 'h1' }))).to.deep.equal(['a', 'c']);
      expect(uuids(await instances.find({ host: 'h1', memory_mb: 512 }))).to.deep.equal(['a']);
      expect(uuids(await instances.find({ memory_mb: 512 }))).to.deep.equal(['a', 'b', 'd']);
      expect(uuids(await instances.find({ host: null, task_state: null }))).to.deep.equal(['d']);
      expect(uuids(await instances.find({ uuid: 'b' }))).to.deep.equal(['b']);
      expect(uuids(await instances.find({ host: "h1' or '1'='1" }))).to.deep.equal([]);
      expect(uuids(await instances.find({}))).to.deep.equal(['a', 'b', 'c', 'd']);
    }));

  it('find by what a field is now, in the order of their creation, whatever it was before', () =>
    withRecords(async ({ instances, migrations }) => {
      for (const uuid of ['a', 'b', 'c'])
        await instances.create(Instance.create({ uuid, host: 'h1', task_state: null }));
      await instances.update('a', { host: 'h2' });
      await instances.update('b', { host: null });
      expect(uuids(await instances.find({ host: 'h1' }))).to.deep.equal(['c']);
      expect(uuids(await instances.find({ host: 'h2' }))).to.deep.equal(['a']);
      expect(uuids(await instances.find({ host: null }))).to.deep.equal(['b']);
      await instances.update('b', { host: 'h1' });
      await instances.update('a', { host: 'h1' });
      expect(uuids(await instances.find({ host: 'h1' }))).to.deep.equal(['a', 'b', 'c']);
      expect(uuids(await instances.find({ uuid: 'b', host: 'h2' }))).to.deep.equal([]);
      for (const [uuid, source_compute] of [
        ['m', 'h1'],
        ['n', 'h2'],
        ['o', 'h1'],
      ] as const)
        await migrations.create(Migration.create({ uuid, source_compute, instance_uuid: 'a' }));
      expect(uuids(await migrations.find({ source_compute: 'h1' }))).to.deep.equal(['m', 'o']);
      expect(uuids(await migrations.find({ instance_uuid: 'a' }))).to.deep.equal(['m', 'n', 'o']);
    }));

  it('hide what is deleted, unless they are asked for it, and keep it', () =>
    withRecords(async ({ instances }) => {
      for (const uuid of ['a', 'b'])
        await instances.create(Instance.create({ uuid, host: 'h', deleted: false }));
      await instances.update('a', { deleted: true, deleted_at: new Date('2026-11-29T10:00:00Z') });
      expect(uuids(await instances.find({ host: 'h' }))).to.deep.equal(['b']);
      expect(uuids(await instances.find({ host: 'h', deleted: true }))).to.deep.equal(['a']);
      expect(uuids(await instances.find({ deleted: false }))).to.deep.equal(['b']);
      expect((await instances.get('a')).get('deleted_at')).to.deep.equal(new Date('2026-11-29T10:00:00Z'));
    }));

  it('say when there is nothing, or something already', () =>
    withRecords(async ({ instances, migrations }) => {
      await instances.create(Instance.create({ uuid: 'a' }));
      expect(await failureOf(instances.create(Instance.create({ uuid: 'a' })))).to.be.instanceOf(
        UnexpectedStateError,
      );
      const absent = await failureOf(migrations.get('nowhere'));
      expect(absent).to.be.instanceOf(RecordNotFoundError).with.property('code', 'ERR_NOT_FOUND');
      expect((absent as Error).message).to.equal('There is no migration nowhere');
      expect(await failureOf(instances.update('z', { host: 'h' }))).to.be.instanceOf(RecordNotFoundError);
    }));
}

function describeUpdates(withRecords: WithRecords): void {
  it('write only from an expected state, so that one of several writers wins (COMP-05)', () =>
    withRecords(async ({ instances }) => {
      await instances.create(Instance.create({ uuid: 'u', vm_state: 'active', task_state: null }));
      const take = (host: string) =>
        instances.update(
          'u',
          { task_state: 'migrating', host },
          { task_state: [null], vm_state: ['active', 'paused'] },
        );
      const hosts = Array.from({ length: 10 }, (_, number) => `h${number}`);
      const results = await Promise.allSettled(hosts.map(take));
      const won = hosts.filter((_host, index) => results[index]?.status === 'fulfilled');
      expect(won).to.have.length(1);
      expect((await instances.get('u')).get('host')).to.equal(won[0]);
      const error = await failureOf(take('late'));
      expect(error).to.be.instanceOf(UnexpectedStateError).with.property('code', 'ERR_UNEXPECTED_STATE');
      expect((error as Error).message).to.equal('instance u: task_state is migrating, expected null');
      expect((await instances.get('u')).get('host')).to.equal(won[0]);
    }));

  it('lose no field of two writers at once', () =>
    withRecords(async ({ instances }) => {
      await instances.create(Instance.create({ uuid: 'u', vcpus: 0 }));
      const numbers = Array.from({ length: 12 }, (_, number) => number);
      await Promise.all(numbers.map((number) => instances.update('u', { [`mark_${number}`]: number })));
      const fields = new Map((await instances.get('u')).entries());
      expect(numbers.map((number) => fields.get(`mark_${number}`))).to.deep.equal(numbers);
    }));
}

function describeServices(withRecords: WithRecords): void {
  it('keep the last report of each service, and count them; none is forced down unless that was said (FD-7)', () =>
    withRecords(async ({ services }) => {
      const first = { binary: 'compute', host: 'b', state: 'running', reportedAtMs: 1_764_000_000_001 };
      const registered = await services.register(first);
      await services.register({ binary: 'compute', host: 'a', state: 'running', reportedAtMs: 5 });
      const told = await services.report({ ...first, state: 'draining', reportedAtMs: 1_764_000_000_002 });
      await services.register({ binary: 'conductor', host: 'c', state: 'running', reportedAtMs: 5 });
      const [a, b, ...more] = await services.list('compute');
      expect(more).to.deep.equal([]);
      expect([a?.host, a?.reportCount]).to.deep.equal(['a', 1]);
      expect(b?.uuid).to.match(/^[0-9a-f-]{36}$/);
      expect(b).to.deep.equal(told);
      expect([registered.id, registered.reportCount]).to.deep.equal([b?.id, 1]);
      expect(a?.id).to.be.above(b?.id ?? 0);
      expect(b).to.deep.equal({
        id: b?.id,
        uuid: b?.uuid,
        binary: 'compute',
        host: 'b',
        state: 'draining',
        reportedAtMs: 1_764_000_000_002,
        topic: 'compute',
        version: 0,
        availabilityZone: null,
        startedAtMs: 1_764_000_000_001,
        disabled: false,
        disabledReason: null,
        forcedDown: false,
        forcedDownNote: null,
        epoch: 64_000_000,
        drain: null,
        reportCount: 2,
      });
    }));

  it('find services by what is given, in the order of their numbers (HTTP-05)', () =>
    withRecords(async ({ services }) => {
      const report = { state: 'running', reportedAtMs: 1 };
      const b = await services.register({ binary: 'compute', host: 'b', ...report });
      const a = await services.register({ binary: 'compute', host: 'a', ...report });
      const c = await services.register({ binary: 'conductor', host: 'a', ...report });
      const all = await services.find({});
      expect(all.filter(({ host }) => host === 'a' || host === 'b')).to.deep.equal([b, a, c]); // the conductor is there too
      expect(await services.find({ host: 'a' })).to.deep.equal([a, c]);
      expect(await services.find({ host: 'a', binary: 'compute' })).to.deep.equal([a]);
      expect(await services.find({ uuid: c.uuid })).to.deep.equal([c]);
      expect(await services.find({ id: b.id })).to.deep.equal([b]);
      expect(await services.find({ id: b.id, host: 'a' })).to.deep.equal([]);
      expect(await services.find({ id: 2 ** 31 })).to.deep.equal([]);
    }));

  it('keep how the drain of a service goes, until a report tells of none', () =>
    withRecords(async ({ services }) => {
      const report = { binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 };
      await services.register(report);
      const tasks = [{ name: 'boot', kind: 'background', subject: 'vm', ageMs: 5, progress: null }] as const;
      const drain = { reason: 'SIGTERM', step: 'tasks', budgetLeftMs: 1000, taskCount: 1, tasks };
      await services.report({ ...report, state: 'draining', drain });
      expect((await services.get('compute', 'a')).drain).to.deep.equal(drain);
      await services.update('compute', 'a', { forcedDown: true });
      expect((await services.get('compute', 'a')).drain).to.deep.equal(drain);
      await services.report(report);
      expect((await services.get('compute', 'a')).drain).to.equal(null);
    }));

  it('keep what operators say of a service, whatever it reports', () =>
    withRecords(async ({ services }) => {
      const report = { binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 };
      await services.register({
        ...report,
        uuid: 'mine',
        version: 66,
        topic: 'other',
        availabilityZone: 'z1',
        startedAtMs: 1,
      });
      const changed = await services.update('compute', 'a', {
        disabled: true,
        disabledReason: 'disks',
        forcedDown: true,
      });
      expect([changed.disabled, changed.disabledReason, changed.forcedDown]).to.deep.equal([
        true,
        'disks',
        true,
      ]);
      await services.register({ ...report, uuid: 'another', reportedAtMs: 2 });
      const got = await services.get('compute', 'a');
      expect([got.uuid, got.version, got.topic, got.availabilityZone]).to.deep.equal([
        'mine',
        66,
        'other',
        'z1',
      ]);
      expect([got.startedAtMs, got.reportedAtMs, got.reportCount]).to.deep.equal([1, 2, 2]);
      expect([got.disabled, got.disabledReason, got.forcedDown]).to.deep.equal([true, 'disks', true]);
      await services.report({ ...report, availabilityZone: null, version: 67 });
      await services.update('compute', 'a', { disabled: false, disabledReason: null });
      const later = await services.get('compute', 'a');
      expect([later.availabilityZone, later.version, later.disabled]).to.deep.equal([null, 67, false]);
      expect([later.disabledReason, later.forcedDown]).to.deep.equal([null, true]);
      expect(await services.update('compute', 'a', {})).to.deep.equal(later);
    }));

  it('raise the epoch of a service each time that it is forced down, and only then (decision 31)', () =>
    withRecords(async ({ services }) => {
      await services.register({ binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 });
      const epochAfter = async (forcedDown: boolean): Promise<number> =>
        (await services.update('compute', 'a', { forcedDown })).epoch;
      expect(await epochAfter(false)).to.equal(0);
      expect(await Promise.all([true, true, true].map(epochAfter))).to.deep.equal([1, 1, 1]);
      await services.update('compute', 'a', { disabled: true });
      expect(await epochAfter(false)).to.equal(1);
      expect(await epochAfter(true)).to.equal(2);
      const told = await services.report({
        binary: 'compute',
        host: 'a',
        state: 'running',
        reportedAtMs: 2,
      });
      expect([told.epoch, told.forcedDown]).to.deep.equal([2, true]);
    }));

  it('keep who has forced a service down until it is cleared, and when, also if nobody says so', () =>
    withRecords(async ({ services }) => {
      const report = { binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 };
      await services.register(report);
      const forcedDownNote = { by: 'ann', reason: 'fan' };
      const before = Date.now();
      const noteAfter = async (changes: ServiceChanges): Promise<unknown> =>
        (await services.update('compute', 'a', changes)).forcedDownNote;
      const note = (await noteAfter({ forcedDown: true, forcedDownNote })) as { readonly atMs: number };
      expect(note).to.include(forcedDownNote);
      expect(note.atMs).to.be.within(before, Date.now());
      expect(await noteAfter({ forcedDown: true })).to.deep.equal(note);
      const bob = { by: 'bob', reason: null };
      expect(await noteAfter({ forcedDown: true, forcedDownNote: bob })).to.deep.equal(note);
      expect((await services.report(report)).forcedDownNote).to.deep.equal(note);
      expect((await services.get('compute', 'a')).forcedDownNote).to.deep.equal(note);
      expect(await noteAfter({ forcedDown: false })).to.equal(null);
      const nobody = (await noteAfter({ forcedDown: true })) as { readonly atMs: number };
      expect(nobody).to.include({ by: null, reason: null });
      expect(nobody.atMs).to.be.within(before, Date.now());
      expect(await noteAfter({ forcedDown: true, forcedDownNote })).to.include(forcedDownNote);
      expect(await noteAfter({ forcedDown: false, forcedDownNote })).to.equal(null);
    }));

  it('make a deleted service again when it registers, and not when it reports; its epoch is above all before (COMP-18, decision 31)', () =>
    withRecords(async ({ services }) => {
      const report = { binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 };
      await services.register({ ...report, reportedAtMs: 1_764_000_000_000 });
      const before = await services.update('compute', 'a', { forcedDown: true });
      await services.delete('compute', 'a');
      expect(await failureOf(services.report(report))).to.be.instanceOf(RecordNotFoundError);
      expect(await services.list('compute')).to.deep.equal([]);
      const again = await services.register({ ...report, reportedAtMs: 1_764_000_060_000 });
      expect(again.reportCount).to.equal(1);
      expect(again.epoch).to.be.above(before.epoch);
      expect(again.id).to.be.above(before.id);
      expect(again.uuid).to.not.equal(before.uuid);
    }));

  it('know no service that is not registered', () =>
    withRecords(async ({ services }) => {
      for (const work of [
        () => services.get('compute', 'x'),
        () => services.report({ binary: 'compute', host: 'x', state: 'running', reportedAtMs: 1 }),
        () => services.update('compute', 'x', { forcedDown: true }),
        () => services.delete('compute', 'x'),
      ]) {
        const error = await failureOf(work());
        expect(error).to.be.instanceOf(RecordNotFoundError);
        expect((error as Error).message).to.equal('There is no service compute on x');
      }
      expect(await services.list('compute')).to.deep.equal([]);
    }));
}

function describeAllocations(withRecords: WithRecords): void {
  it('allocate what there is, and no more', () =>
    withRecords(async ({ allocations }) => {
      expect(await allocations.claim('i', 'h', SMALL)).to.equal(false); // of which nothing is known
      await allocations.report('h', HOST);
      await allocations.report('empty', SMALL);
      expect(await allocations.claim('i1', 'h', { vcpus: 4, memoryMb: 1024, diskGb: 100.5 })).to.equal(true);
      expect(await allocations.claim('i2', 'h', { ...SMALL, diskGb: 0 })).to.equal(false); // vcpus
      expect(await allocations.claim('i2', 'h', { vcpus: 0, memoryMb: 1025, diskGb: 0 })).to.equal(false);
      expect(await allocations.claim('i2', 'h', { vcpus: 0, memoryMb: 1024, diskGb: 0 })).to.equal(true);
      expect(await allocations.capacities()).to.deep.equal([
        { host: 'empty', total: SMALL, used: { vcpus: 0, memoryMb: 0, diskGb: 0 } },
        { host: 'h', total: HOST, used: { vcpus: 4, memoryMb: 2048, diskGb: 100.5 } },
      ]);
    }));

  it('forget what a host has, when nothing is allocated there (HTTP-04)', () =>
    withRecords(async ({ allocations }) => {
      await allocations.report('h', HOST);
      await allocations.claim('i', 'h', SMALL);
      const error = await failureOf(allocations.forget('h'));
      expect(error).to.be.instanceOf(UnexpectedStateError);
      expect((error as Error).message).to.equal('Something is allocated on h');
      await allocations.release('i');
      await allocations.forget('h');
      await allocations.forget('unknown');
      expect(await allocations.capacities()).to.deep.equal([]);
      expect(await allocations.claim('i', 'h', SMALL)).to.equal(false);
    }));

  it('take the same claim twice as one, and another as a change', () =>
    withRecords(async ({ allocations }) => {
      await allocations.report('h', HOST);
      const all = { ...HOST };
      expect(await allocations.claim('i', 'h', all)).to.equal(true);
      expect(await allocations.claim('i', 'h', all)).to.equal(true);
      expect(await allocations.claim('i', 'h', { ...all, vcpus: 5 })).to.equal(false);
      expect(await allocations.find({})).to.deep.equal([{ consumer: 'i', host: 'h', resources: all }]);
      expect(await allocations.claim('i', 'h', SMALL)).to.equal(true);
      await allocations.report('h', { ...SMALL, memoryMb: 1 }); // it has become smaller
      expect(await allocations.claim('i', 'h', SMALL)).to.equal(true);
      expect(await allocations.find({ host: 'h' })).to.deep.equal([
        { consumer: 'i', host: 'h', resources: SMALL },
      ]);
    }));

  it('hand an instance its place over to its migration, and back (compute-rpc.md 3.2)', () =>
    withRecords(async ({ allocations }) => {
      for (const host of ['source', 'dest']) await allocations.report(host, HOST);
      await allocations.claim('instance', 'source', SMALL);
      await allocations.transfer('instance', 'migration');
      await allocations.transfer('instance', 'migration'); // nothing is left to hand over
      expect(await allocations.claim('instance', 'dest', SMALL)).to.equal(true);
      expect(await allocations.find({ consumer: 'migration' })).to.deep.equal([
        { consumer: 'migration', host: 'source', resources: SMALL },
      ]);
      expect(await allocations.find({ consumer: 'instance' })).to.deep.equal([
        { consumer: 'instance', host: 'dest', resources: SMALL },
      ]);
      await allocations.release('instance', 'dest');
      await allocations.transfer('migration', 'instance');
      expect(await allocations.find({})).to.deep.equal([
        { consumer: 'instance', host: 'source', resources: SMALL },
      ]);
    }));

  it('refuse to hand over what the other has already, and write nothing then', () =>
    withRecords(async ({ allocations }) => {
      for (const host of ['a', 'b']) await allocations.report(host, HOST);
      await allocations.claim('i', 'a', SMALL);
      await allocations.claim('i', 'b', SMALL);
      await allocations.claim('m', 'b', SMALL);
      expect(await failureOf(allocations.transfer('i', 'm'))).to.be.instanceOf(UnexpectedStateError);
      const found = await allocations.find({});
      expect(found.map(({ consumer, host }) => `${consumer}@${host}`)).to.deep.equal(['i@a', 'i@b', 'm@b']);
      await allocations.transfer('i', 'i');
      expect(await allocations.find({ consumer: 'i' })).to.have.length(2);
    }));

  it('give back on one host or on all, and twice', () =>
    withRecords(async ({ allocations }) => {
      for (const host of ['a', 'b']) await allocations.report(host, HOST);
      for (const host of ['a', 'b']) await allocations.claim('i', host, HOST);
      await allocations.release('i', 'a');
      await allocations.release('i', 'a');
      expect(await allocations.find({ consumer: 'i', host: 'a' })).to.deep.equal([]);
      expect(await allocations.find({ consumer: 'i', host: 'b' })).to.have.length(1);
      await allocations.release('i');
      await allocations.release('i');
      expect(await allocations.find({})).to.deep.equal([]);
      expect(await allocations.claim('other', 'a', HOST)).to.equal(true);
    }));

  it('never oversubscribe under 50 claims at once', () =>
    withRecords(async ({ allocations }) => {
      await allocations.report('h', { vcpus: 7, memoryMb: 100_000, diskGb: 100_000 });
      const claims = Array.from({ length: 50 }, (_, number) => allocations.claim(`i${number}`, 'h', SMALL));
      const granted = (await Promise.all(claims)).filter(Boolean).length;
      expect(granted).to.equal(7);
      const [capacity] = await allocations.capacities();
      expect(capacity?.used.vcpus).to.equal(7);
    }));
}
