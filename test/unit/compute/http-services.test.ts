import { DatabaseError } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import type { HttpBed } from './http-bed.js';
import { withHttp } from './http-bed.js';

const DOWN = { binary: 'nova-compute', host: 'host1', forced_down: true };
const FORCE_DOWN = '/v2.1/os-services/force-down';
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

async function withHost(work: (bed: HttpBed, uuid: string) => Promise<void>): Promise<void> {
  await withHttp(async (bed) => {
    await work(bed, await bed.service('host1'));
  });
}

describe('compute: os-services, force-down', () => {
  it('answers the requests of the document that asked for it with its answers, to the letter (FD-13, FD-14, FD-15, FD-21)', () =>
    withHost(async (bed) => {
      for (const forced_down of [true, false]) {
        const body = { binary: 'nova-compute', host: 'host1', forced_down };
        for (const path of [FORCE_DOWN, '/v2.1/6f70656e737461636b20342065766572/os-services/force-down']) {
          const answer = await bed.send('PUT', path, { body });
          expect(answer.status).to.equal(200);
          expect(answer.body).to.deep.equal({
            service: { host: 'host1', binary: 'nova-compute', forced_down },
          });
        }
      }
    }));

  it('makes the service down in the very next list, whatever it reports, until it is cleared (FD-1, FD-8, FD-12, FD-25, COMP-12, COMP-16)', () =>
    withHost(async (bed) => {
      await bed.send('PUT', FORCE_DOWN, { body: DOWN });
      const seen = async (): Promise<unknown> => {
        const [one] = await bed.listed();
        return [one?.['state'], one?.['forced_down'], one?.['status']];
      };
      expect(await seen()).to.deep.equal(['down', true, 'enabled']);
      await bed.beat('host1');
      expect(await seen()).to.deep.equal(['down', true, 'enabled']);
      await bed.send('PUT', FORCE_DOWN, { body: { ...DOWN, forced_down: false } });
      expect(await seen()).to.deep.equal(['up', false, 'enabled']);
    }));

  it('takes booleans and their words, and refuses numbers and what is missing or unknown (FD-16, FD-17)', () =>
    withHost(async (bed) => {
      const of = async (forced_down: unknown): Promise<unknown> => {
        const { status, body } = await bed.send('PUT', FORCE_DOWN, { body: { ...DOWN, forced_down } });
        return status === 200 ? body.service['forced_down'] : [status, body.badRequest?.code];
      };
      const TRUE = [true, 'True', 'TRUE', 'true', '1', 'ON', 'On', 'on', 'YES', 'Yes', 'yes'];
      const FALSE = [false, 'False', 'FALSE', 'false', '0', 'OFF', 'Off', 'off', 'NO', 'No', 'no'];
      for (const value of TRUE) expect(await of(value), String(value)).to.equal(true);
      for (const value of FALSE) expect(await of(value), String(value)).to.equal(false);
      for (const value of [1, 0, null, '', 'tRUE', 'y', [], {}, [true]])
        expect(await of(value), JSON.stringify(value)).to.deep.equal([400, 400]);
      const { binary, host } = DOWN;
      const missing = await bed.send('PUT', FORCE_DOWN, { body: { binary, host } });
      expect([missing.status, missing.body]).to.deep.equal([
        400,
        { badRequest: { code: 400, message: 'Missing forced_down field' } },
      ]);
      const more = await bed.send('PUT', FORCE_DOWN, { body: { ...DOWN, why: 'x' } });
      expect(more.body.badRequest?.message).to.contain("'why' was unexpected");
    }));

  it('is there from 2.11 to 2.52: before 404, or 400 with the field; after it 400, as it is no uuid (FD-21)', () =>
    withHost(async (bed) => {
      const { binary, host } = DOWN;
      const status = async (version: string, body: object): Promise<number> =>
        (await bed.send('PUT', FORCE_DOWN, { body, version })).status;
      expect(await status('2.10', DOWN)).to.equal(400);
      expect(await status('2.1', { binary, host })).to.equal(404);
      expect(await status('2.11', DOWN)).to.equal(200);
      expect(await status('2.52', DOWN)).to.equal(200);
      expect(await status('2.53', { forced_down: true })).to.equal(400);
      expect(await status('latest', { forced_down: true })).to.equal(400);
    }));

  it('does not know unknown hosts and binaries, and updates compute services only (FD-20)', () =>
    withHost(async (bed) => {
      await bed.service('host1', { binary: 'conductor' });
      const of = async (binary: string, host: string): Promise<readonly unknown[]> => {
        const { status, body } = await bed.send('PUT', FORCE_DOWN, { body: { ...DOWN, binary, host } });
        return [status, (body.itemNotFound ?? body.badRequest)?.message];
      };
      expect(await of('nova-compute', 'host2')).to.deep.equal([
        404,
        "Host 'host2' is not mapped to any cell, or has no service nova-compute",
      ]);
      expect(await of('compute', 'host1')).to.include(404);
      expect(await of('nova-x', 'host1')).to.include(404);
      expect(await of('nova-conductor', 'host1')).to.deep.equal([
        400,
        'Updating a nova-conductor service is not supported. Only nova-compute services can be updated.',
      ]);
      for (const host of ['', 'a b', 'a/b', 'ü', 'a'.repeat(256)]) {
        expect(await of('nova-compute', host), host).to.include(400);
      }
    }));

  it('is the same when it is repeated, and changes nothing else (FD-24, FD-25, HTTP-05)', () =>
    withHost(async (bed, uuid) => {
      const { services } = bed.records;
      const before = await services.update('compute', 'host1', { disabled: true, disabledReason: 'disks' });
      for (const time of [1, 2]) {
        expect((await bed.send('PUT', FORCE_DOWN, { body: DOWN })).status, String(time)).to.equal(200);
        const { forcedDown, disabled, disabledReason, epoch } = await bed.records.services.get(
          'compute',
          'host1',
        );
        expect([forcedDown, disabled, disabledReason, epoch]).to.deep.equal([
          true,
          true,
          'disks',
          before.epoch + 1,
        ]);
      }
      expect((await bed.records.services.get('compute', 'host1')).uuid).to.equal(uuid);
    }));

  it('is not cleared while evacuated instances wait to be removed there, and is afterwards (FD-23, COMP-13)', () =>
    withHost(async (bed, uuid) => {
      await bed.send('PUT', FORCE_DOWN, { body: DOWN });
      const evacuation = { source_compute: 'host1', migration_type: 'evacuation' } as const;
      const done = await bed.migration({ ...evacuation, status: 'done' });
      await bed.migration({ ...evacuation, status: 'accepted' });
      const clear = { ...DOWN, forced_down: false };
      const refused = await bed.send('PUT', FORCE_DOWN, { body: clear });
      expect(refused.status).to.equal(400);
      expect(refused.body.badRequest?.message).to.contain('start its process first');
      const both = { forced_down: false, status: 'disabled' };
      expect(
        (await bed.send('PUT', `/v2.1/os-services/${uuid}`, { body: both, version: '2.53' })).status,
      ).to.equal(400);
      expect((await bed.records.services.get('compute', 'host1')).disabled).to.equal(false);
      await bed.records.migrations.update(done.get('uuid'), { status: 'completed' });
      expect((await bed.send('PUT', FORCE_DOWN, { body: clear })).status).to.equal(200);
    }));
});

describe('compute: os-services, status', () => {
  const change = (bed: HttpBed, action: string, body: object = {}, version = '2.1') =>
    bed.send('PUT', `/v2.1/os-services/${action}`, {
      body: { binary: 'nova-compute', host: 'host1', ...body },
      version,
    });

  it('enables and disables, with a reason where it is asked for (FD-25)', () =>
    withHost(async (bed) => {
      const its = { host: 'host1', binary: 'nova-compute' };
      expect((await change(bed, 'disable')).body).to.deep.equal({ service: { ...its, status: 'disabled' } });
      const reasoned = await change(bed, 'disable-log-reason', { disabled_reason: 'disks' });
      expect(reasoned.body).to.deep.equal({
        service: { ...its, status: 'disabled', disabled_reason: 'disks' },
      });
      const [listed] = await bed.listed('2.1');
      expect([listed?.['status'], listed?.['disabled_reason'], listed?.['state']]).to.deep.equal([
        'disabled',
        'disks',
        'up',
      ]);
      expect((await change(bed, 'enable')).body).to.deep.equal({ service: { ...its, status: 'enabled' } });
      expect((await bed.listed('2.1'))[0]?.['disabled_reason']).to.equal(null);
      expect((await change(bed, 'disable-log-reason')).body.badRequest?.message).to.equal(
        'Missing disabled reason field',
      );
      expect((await change(bed, 'reboot')).body.itemNotFound?.message).to.equal('Unknown action');
    }));

  it('tells a host that is up that it is enabled or disabled, and not one that is down (COMP-16)', () =>
    withHost(async (bed) => {
      await bed.host('host1');
      await change(bed, 'disable');
      await bed.tasks.whenIdle();
      expect(bed.calls).to.deep.equal(['host1 set_host_enabled(false)']);
      await bed.send('PUT', FORCE_DOWN, { body: DOWN });
      await change(bed, 'enable');
      await bed.tasks.whenIdle();
      expect(bed.calls.length).to.equal(1);
    }));

  it('updates by uuid from 2.53: everything together, and answers with the whole record (FD-22)', () =>
    withHost(async (bed, uuid) => {
      const put = (body: unknown, id = uuid) =>
        bed.send('PUT', `/v2.1/os-services/${id}`, { body, version: '2.53' });
      const answer = await put({ status: 'disabled', disabled_reason: 'maintenance', forced_down: 'yes' });
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal({ service: (await bed.listed('2.53'))[0] });
      expect(answer.body.service).to.include({
        id: uuid,
        status: 'disabled',
        disabled_reason: 'maintenance',
        forced_down: true,
        state: 'down',
      });
      expect(
        (await put({ forced_down: false }, uuid.toUpperCase())).body.service['disabled_reason'],
      ).to.equal('maintenance');
      expect((await put({ status: 'disabled' })).body.service['disabled_reason']).to.equal(null);
      expect((await put({ status: 'disabled' })).status).to.equal(200);
    }));

  it('refuses updates by uuid in the order schema, uuid, policy, look-up (FD-22)', () =>
    withHost(async (bed, uuid) => {
      const conductor = await bed.service('c', { binary: 'conductor' });
      const put = async (body: unknown, id = uuid): Promise<number> =>
        (await bed.send('PUT', `/v2.1/os-services/${id}`, { body, version: '2.53' })).status;
      expect(await put({ forced_down: true }, 'host1')).to.equal(400);
      expect(await put({ forced_down: true }, UNKNOWN)).to.equal(404);
      expect(await put({ forced_down: 1 }, UNKNOWN)).to.equal(400);
      expect(await put({ forced_down: true }, conductor)).to.equal(400);
      for (const body of [
        {},
        { disabled_reason: 'x' },
        { status: 'disabled', disabled_reason: 'a\0b' },
        { status: 'enabled', disabled_reason: 'x' },
        { status: 'down' },
        { binary: 'nova-compute', host: 'host1', forced_down: true },
        [],
        null,
      ]) {
        expect(await put(body), JSON.stringify(body)).to.equal(400);
      }
      expect((await bed.records.services.get('compute', 'host1')).forcedDown).to.equal(false);
    }));
});

describe('compute: os-services, list and delete', () => {
  it('shows each service as its version does (FD-18)', () =>
    withHttp(async (bed) => {
      const uuid = await bed.service('host1', { availabilityZone: 'az1', reportedAtMs: bed.nowMs - 70_000 });
      await bed.service('c1', { binary: 'conductor' });
      const [old, conductor] = await bed.listed('2.1');
      expect(old).to.deep.equal({
        id: 1,
        binary: 'nova-compute',
        host: 'host1',
        zone: 'az1',
        status: 'enabled',
        state: 'down',
        updated_at: `${new Date(bed.nowMs - 70_000).toISOString().slice(0, -1)}000`,
        disabled_reason: null,
      });
      expect(conductor).to.include({ id: 2, binary: 'nova-conductor', zone: 'internal', state: 'up' });
      expect((await bed.listed('2.10'))[0]).to.not.have.property('forced_down');
      for (const version of [undefined, '2.11', '2.52']) {
        expect((await bed.listed(version))[0]).to.include({ id: 1, forced_down: false });
      }
      for (const version of ['2.53', 'latest']) {
        expect((await bed.listed(version))[0]).to.include({ id: uuid, forced_down: false });
      }
    }));

  it('dates reports by the time limit, behind us as ahead of us (FD-9, FD-30)', () =>
    withHttp(async (bed) => {
      for (const [host, offMs] of [
        ['behind', -60_000],
        ['ahead', 60_000],
        ['late', -60_001],
        ['early', 60_001],
      ] as const) {
        await bed.service(host, { reportedAtMs: bed.nowMs + offMs });
      }
      const states = (await bed.listed()).map(({ host, state }) => `${String(host)} ${String(state)}`);
      expect(states).to.deep.equal(['behind up', 'ahead up', 'late down', 'early down']);
    }));

  it('filters by host and binary; other parameters are ignored before 2.75 and refused from it (FD-31)', () =>
    withHttp(async (bed) => {
      await bed.service('a');
      await bed.service('b');
      await bed.service('b', { binary: 'conductor' });
      const found = async (query: string, version = '2.11'): Promise<unknown> => {
        const { status, body } = await bed.send('GET', `/v2.1/os-services?${query}`, { version });
        if (status !== 200) return status;
        return body.services.map((one) => `${String(one['host'])}:${String(one['binary'])}`);
      };
      expect(await found('host=b')).to.deep.equal(['b:nova-compute', 'b:nova-conductor']);
      expect(await found('host=b&binary=nova-compute')).to.deep.equal(['b:nova-compute']);
      expect(await found('host=a&host=b&binary=')).to.deep.equal(['b:nova-compute', 'b:nova-conductor']);
      expect(await found('binary=compute')).to.deep.equal([]);
      expect(await found('host=x&topic=y')).to.deep.equal([]);
      expect(await found('host=b&topic=y', '2.74'))
        .to.be.an('array')
        .with.length(2);
      expect(await found('topic=y', '2.75')).to.equal(400);
      expect(await found(`host=${'x'.repeat(256)}`)).to.equal(400);
      expect(await found('host=a%00')).to.equal(400);
    }));

  it('deletes what has nothing any more, by number before 2.53 and by uuid from it (HTTP-04)', () =>
    withHttp(async (bed) => {
      const uuid = await bed.service('host1');
      await bed.service('host2');
      const remove = async (id: string, version: string): Promise<number> =>
        (await bed.send('DELETE', `/v2.1/os-services/${id}`, { version })).status;
      const migration = await bed.migration({ dest_compute: 'host1', status: 'migrating' });
      expect(await remove(uuid, '2.53')).to.equal(409);
      await bed.records.migrations.update(migration.get('uuid'), { status: 'error' });
      await bed.records.allocations.report('host1', { vcpus: 1, memoryMb: 1, diskGb: 1 });
      await bed.records.allocations.claim('i', 'host1', { vcpus: 1, memoryMb: 1, diskGb: 1 });
      expect(await remove(uuid, '2.53')).to.equal(409);
      await bed.records.allocations.release('i');
      expect(await remove('1', '2.53')).to.equal(400);
      expect(await remove(uuid, '2.52')).to.equal(400);
      expect(await remove(uuid, '2.53')).to.equal(204);
      expect(await remove(uuid, '2.53')).to.equal(404);
      expect(await remove('2', '2.1')).to.equal(204);
      expect(await remove('2', '2.1')).to.equal(404);
      expect(await bed.listed()).to.deep.equal([]);
    }));
});

describe('compute: os-services of several cells', () => {
  it('shows the hosts of a cell that cannot be reached as unknown from 2.69, and leaves them out before (FD-31)', () =>
    withHttp(async (first) => {
      await withHttp(async (second) => {
        await first.service('a');
        await second.service('b');
        await second.service('c', { binary: 'conductor' });
        const cellOf = (name: string, { records, computeApi }: HttpBed) => ({ name, records, computeApi });
        let cells = [cellOf('one', first), cellOf('two', second)];
        const known = {
          mappings: new MemoryMappings(),
          others: () => Promise.resolve(cells),
          get: () => Promise.resolve(cellOf('one', first)),
        };
        await withHttp(
          async (bed) => {
            const hosts = async (version: string): Promise<unknown> =>
              (await bed.listed(version)).map((one) => one['host']);
            expect(await hosts('2.68')).to.deep.equal(['a', 'b', 'c']);
            const body = { binary: 'nova-compute', host: 'b', forced_down: true };
            expect((await bed.send('PUT', FORCE_DOWN, { body })).status).to.equal(200);
            expect((await second.records.services.get('compute', 'b')).forcedDown).to.equal(true);
            cells = cells.slice(0, 1);
            expect(await hosts('2.68')).to.deep.equal(['a']);
            expect((await bed.listed('2.69'))[1]).to.deep.equal({
              binary: 'nova-compute',
              host: 'b',
              status: 'UNKNOWN',
            });
            const services = { ...second.records.services };
            services.find = () => Promise.reject(new DatabaseError('away'));
            cells = [...cells, { ...cellOf('two', second), records: { ...second.records, services } }];
            expect(await hosts('latest')).to.deep.equal(['a', 'b']);
          },
          { cells: known },
        );
      });
    }));
});
