import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import { RpcClient } from '@ebbgate/rpc';
import {
  conductorService,
  Instance,
  type LocalRecords,
  Migration,
  RecordNotFoundError,
  RECORDS_TOPIC,
  RemoteNetworking,
  RemoteRecords,
  UnexpectedStateError,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';

let sites = 0;

interface Site {
  readonly transport: Transport;
  readonly records: RemoteRecords;
  readonly own: LocalRecords;
}

/** A conductor that has the records, and the records as others see them. */
async function withConductor(work: (site: Site) => Promise<void>): Promise<void> {
  sites += 1;
  const url = `memory://remote-records-${sites}/`;
  const transport = createTransport(url);
  const { service, own } = conductorService({
    name: 'c1',
    transport: createTransport(url),
    records: 'memory',
    logger: silentLogger,
  });
  if (!own) throw new Error('it has the records');
  await service.start();
  try {
    await work({ transport, records: new RemoteRecords(transport, { timeoutMs: 2000 }), own });
  } finally {
    expect((await service.drain('the test is over')).outcome).to.equal('clean');
    await transport.close();
  }
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

const instance = (uuid: string) =>
  Instance.create({ uuid, vm_state: 'building', task_state: 'scheduling', host: null, memory_mb: 512 });

describe('records over RPC', () => {
  it('creates, reads, finds and updates as the conductor does, times included (COMP-05)', () =>
    withConductor(async ({ records, own }) => {
      const created = await records.instances.create(instance('i1'));
      expect([created.get('id'), created.changes]).to.deep.equal([1, []]);
      expect(created.get('created_at')).to.be.an.instanceOf(Date);
      await records.instances.create(instance('i2'));
      const launched = new Date('2026-11-29T10:00:00Z');
      const changed = await records.instances.update(
        'i1',
        { host: 'a', task_state: null, launched_at: launched },
        { vm_state: ['building', 'active'], task_state: ['scheduling'] },
      );
      expect(changed.get('launched_at')).to.deep.equal(launched);
      expect((await own.instances.get('i1')).get('host')).to.equal('a');
      const free = await records.instances.find({ host: null });
      expect(free.map((one) => one.get('uuid'))).to.deep.equal(['i2']);
      expect(await records.instances.find({})).to.have.length(2);
      const migration = Migration.create({ uuid: 'm1', instance_uuid: 'i1', status: 'accepted' });
      await records.migrations.create(migration);
      await records.migrations.update('m1', { status: 'queued', memory_total: 2 ** 40 });
      const [found] = await records.migrations.find({ instance_uuid: 'i1' });
      expect([found?.get('status'), found?.get('memory_total')]).to.deep.equal(['queued', 2 ** 40]);
      expect((await records.migrations.get('m1')).get('uuid')).to.equal('m1');
    }));

  it('refuses with the errors of the records, and writes nothing then', () =>
    withConductor(async ({ records, own }) => {
      await records.instances.create(instance('i1'));
      const update = records.instances.update('i1', { host: 'b' }, { task_state: [null, 'migrating'] });
      const unexpected = await failure(update);
      expect(unexpected).to.be.an.instanceOf(UnexpectedStateError);
      expect((unexpected as Error).message).to.match(/task_state is scheduling, expected null or migrating/);
      expect((await own.instances.get('i1')).get('host')).to.equal(null);
      expect(await failure(records.instances.create(instance('i1')))).to.be.an.instanceOf(
        UnexpectedStateError,
      );
      const absent = await failure(records.migrations.get('nowhere'));
      expect(absent).to.be.an.instanceOf(RecordNotFoundError);
      expect((absent as RecordNotFoundError).code).to.equal('ERR_NOT_FOUND');
      expect((absent as Error).message).to.equal('There is no migration nowhere');
    }));

  it('tells of the daemons, and of changes', () =>
    withConductor(async ({ records, own }) => {
      const told: string[] = [];
      own.events.on('service', ({ host, state }) => told.push(`${host} ${state}`));
      await records.services.register({ binary: 'compute', host: 'b', state: 'running', reportedAtMs: 5 });
      await records.services.register({ binary: 'compute', host: 'a', state: 'draining', reportedAtMs: 6 });
      expect(told).to.deep.equal(['b running', 'a draining']);
      const listed = await records.services.list('compute');
      expect(listed).to.deep.equal(await own.services.list('compute'));
      expect(listed.map(({ host, state, reportedAtMs }) => [host, state, reportedAtMs])).to.deep.equal([
        ['a', 'draining', 6],
        ['b', 'running', 5],
      ]);
    }));

  it('takes nothing from the wire that is of another kind (SEC-01)', () =>
    withConductor(async ({ transport, records }) => {
      await records.instances.create(instance('i1'));
      const raw = new RpcClient(transport, { topic: RECORDS_TOPIC, namespace: 'records', version: '1.0' });
      for (const [method, args] of [
        ['instance_get', { uuid: 5 }],
        ['instance_update', { uuid: 'i1', changes: {}, expected: {} }],
        ['instance_find', { where: { host: 'a' } }],
        ['service_list', {}],
        ['nothing_like_it', {}],
        ['constructor', {}],
      ] as const) {
        const error = await failure(raw.call({}, method, args));
        expect((error as { code?: string }).code, method).to.be.oneOf([
          'ERR_VALIDATION',
          'ERR_NO_SUCH_METHOD',
        ]);
      }
      expect((await records.instances.get('i1')).get('task_state')).to.equal('scheduling');
    }));

  it('has the fake network service beside them, whose events can be held back', () =>
    withConductor(async ({ transport, records }) => {
      const networking = new RemoteNetworking(transport, { timeoutMs: 2000 });
      await records.instances.create(instance('i1'));
      const ports = await networking.allocate('i1');
      expect(ports).to.have.length(1);
      expect(await networking.portsOf('i1')).to.deep.equal(ports);
      await networking.hold('i1');
      await networking.plug('i1', 'a');
      await networking.release('i1'); // to no host: the record names none
      await networking.activateBinding('i1', 'a');
      await networking.deallocate('i1');
      expect(await networking.portsOf('i1')).to.deep.equal([]);
    }));
});
