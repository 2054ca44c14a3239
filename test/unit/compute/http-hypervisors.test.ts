import { randomUUID } from 'node:crypto';
import { DatabaseError, Instance, type InstanceFields } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import {
  HYPERVISOR_ANSWER,
  HYPERVISORS_ANSWER,
  HYPERVISORS_DETAIL_ANSWER,
  STATISTICS_ANSWER,
  UPTIME_ANSWER,
} from '#compute/http/hypervisor-schemas.js';
import { AGGREGATES_ANSWER, ZONES_ANSWER } from '#compute/http/zone-routes.js';
import { refused, shown, type Shown } from './http-asked.js';
import { type HttpBed, withHttp } from './http-bed.js';

interface List {
  readonly hypervisors: readonly Shown[];
  readonly hypervisors_links?: readonly { readonly href: string }[];
}

const TOTAL = { vcpus: 16, memoryMb: 8192, diskGb: 100 };

/** A host that has told what it has. */
async function hypervisor(bed: HttpBed, host: string): Promise<string> {
  await bed.records.allocations.report(host, TOTAL);
  return bed.service(host);
}

async function instanceAt(bed: HttpBed, host: string, fields: Partial<InstanceFields> = {}): Promise<string> {
  const uuid = randomUUID();
  const defaults = { uuid, display_name: 'vm1', vm_state: 'active', task_state: null, host } as const;
  await bed.records.instances.create(Instance.create({ ...defaults, deleted: false, ...fields }));
  return uuid;
}

async function names(bed: HttpBed, query: string, version: string): Promise<string> {
  const { hypervisors } = await shown<List>(bed, `/os-hypervisors${query}`, HYPERVISORS_ANSWER, version);
  return hypervisors.map((one) => String(one['hypervisor_hostname'])).join(' ');
}

describe('compute: os-hypervisors', () => {
  it('lists the hosts that have told what they have, and who is up; by number before 2.53, by uuid from it (COMP-11)', () =>
    withHttp(async (bed) => {
      const uuid = await hypervisor(bed, 'a');
      await hypervisor(bed, 'b');
      await bed.service('silent');
      await bed.service('c', { binary: 'conductor' });
      await bed.records.services.update('compute', 'b', { forcedDown: true, disabled: true });
      const list = async (version: string): Promise<readonly Shown[]> =>
        (await shown<List>(bed, '/os-hypervisors', HYPERVISORS_ANSWER, version)).hypervisors;
      expect(await list('2.52')).to.deep.equal([
        { id: 1, hypervisor_hostname: 'a', state: 'up', status: 'enabled' },
        { id: 2, hypervisor_hostname: 'b', state: 'down', status: 'disabled' },
      ]);
      expect((await list('2.53'))[0]).to.deep.equal({
        id: uuid,
        hypervisor_hostname: 'a',
        state: 'up',
        status: 'enabled',
      });
    }));

  it('shows what is there and taken before 2.88, and from it how long the host has run, as that says', () =>
    withHttp(async (bed) => {
      await bed.host('a');
      const uuid = await hypervisor(bed, 'a');
      const taken = { vcpus: 2, memoryMb: 1024, diskGb: 10 };
      await bed.records.allocations.claim(await instanceAt(bed, 'a'), 'a', taken);
      await instanceAt(bed, 'a', { task_state: 'rebooting' });
      await instanceAt(bed, 'a', { hidden: true });
      const at = async (version: string, id: string): Promise<Shown> => {
        const answer = await shown<{ readonly hypervisor: Shown }>(
          bed,
          `/os-hypervisors/${id}`,
          HYPERVISOR_ANSWER,
          version,
        );
        return answer.hypervisor;
      };
      const brief = { hypervisor_hostname: 'a', state: 'up', status: 'enabled' };
      const unknown = { hypervisor_type: null, hypervisor_version: null, host_ip: null };
      const sizes = {
        vcpus: 16,
        memory_mb: 8192,
        local_gb: 100,
        vcpus_used: 2,
        memory_mb_used: 1024,
        local_gb_used: 10,
        free_ram_mb: 7168,
        free_disk_gb: 90,
        current_workload: 1,
        running_vms: 2,
        disk_available_least: 90,
      };
      const service = { id: 1, host: 'a', disabled_reason: null };
      const old = { id: 1, ...brief, ...unknown, service, ...sizes };
      expect(await at('2.27', '1')).to.deep.equal({ ...old, cpu_info: '' });
      expect(await at('2.28', '1')).to.deep.equal({ ...old, cpu_info: {} });
      const known = { id: uuid, ...brief, ...unknown, service: { ...service, id: uuid } };
      expect(await at('2.87', uuid)).to.deep.equal({ ...known, ...sizes, cpu_info: {} });
      expect(await at('2.88', uuid.toUpperCase())).to.deep.equal({ ...known, uptime: 'a is up' });
      const detail = await shown<List>(bed, '/os-hypervisors/detail', HYPERVISORS_DETAIL_ANSWER, 'latest');
      expect(detail.hypervisors).to.deep.equal([await at('latest', uuid)]);
      const statistics = await shown(bed, '/os-hypervisors/statistics', STATISTICS_ANSWER, '2.87');
      expect(statistics).to.deep.equal({ hypervisor_statistics: { count: 1, ...sizes } });
      expect(await refused(bed, 'GET', '/os-hypervisors/statistics', { version: '2.88' })).to.equal(
        '404 itemNotFound: API version 2.88 is not supported on this method.',
      );
    }));

  it('counts no disabled host among what all have together, as upstream', () =>
    withHttp(async (bed) => {
      await hypervisor(bed, 'a');
      await hypervisor(bed, 'b');
      await bed.records.services.update('compute', 'b', { disabled: true });
      const { hypervisor_statistics: all } = await shown<{ readonly hypervisor_statistics: Shown }>(
        bed,
        '/os-hypervisors/statistics',
        STATISTICS_ANSWER,
      );
      expect(all).to.include({ count: 1, vcpus: 16 });
    }));

  it('tells how long a host has run, and 400 of one that is down (COMP-16)', () =>
    withHttp(async (bed) => {
      await bed.host('a');
      await hypervisor(bed, 'a');
      const { hypervisor: told } = await shown<{ readonly hypervisor: Shown }>(
        bed,
        '/os-hypervisors/1/uptime',
        UPTIME_ANSWER,
      );
      expect(told).to.include({ id: 1, uptime: 'a is up' });
      await bed.records.services.update('compute', 'a', { forcedDown: true });
      expect(await refused(bed, 'GET', '/os-hypervisors/1/uptime')).to.equal(
        '400 badRequest: Compute service of a is unavailable at this time.',
      );
      expect(await refused(bed, 'GET', '/os-hypervisors/2/uptime')).to.match(/^404 /);
      const { hypervisors } = await shown<List>(
        bed,
        '/os-hypervisors/detail',
        HYPERVISORS_DETAIL_ANSWER,
        '2.88',
      );
      expect(hypervisors[0]).to.deep.include({ state: 'down', uptime: null });
    }));

  it('refuses what is no id, and knows none that is not there', () =>
    withHttp(async (bed) => {
      await hypervisor(bed, 'a');
      expect(await refused(bed, 'GET', '/os-hypervisors/1', { version: '2.53' })).to.equal(
        '400 badRequest: Invalid uuid in the path',
      );
      for (const id of ['2', 'a', '-1', '1.0']) {
        const missing = `404 itemNotFound: Hypervisor with ID '${id}' could not be found.`;
        expect(await refused(bed, 'GET', `/os-hypervisors/${id}`, { version: '2.52' })).to.equal(missing);
      }
      const uuid = randomUUID();
      expect(await refused(bed, 'GET', `/os-hypervisors/${uuid}`, { version: '2.53' })).to.match(/^404 /);
    }));

  it('gives pages from 2.33; a pattern from 2.53, which has none', () =>
    withHttp(async (bed) => {
      for (const host of ['rack1-a', 'rack1-b', 'rack2-a']) await hypervisor(bed, host);
      expect(await names(bed, '?limit=1&x=1', '2.32')).to.equal('rack1-a rack1-b rack2-a');
      expect(await names(bed, '?limit=1&marker=1&x=1', '2.33')).to.equal('rack1-b');
      const page = await shown<List>(bed, '/os-hypervisors?limit=2', HYPERVISORS_ANSWER, '2.53');
      const [link] = page.hypervisors_links ?? [];
      expect(await names(bed, new URL(link?.href ?? '').search, '2.53')).to.equal('rack2-a');
      expect(await names(bed, '?hypervisor_hostname_pattern=RACK1', '2.53')).to.equal('rack1-a rack1-b');
      const at253 = { version: '2.53' };
      const bad = '/os-hypervisors?hypervisor_hostname_pattern';
      expect(await refused(bed, 'GET', `${bad}=x`, at253)).to.equal(
        "404 itemNotFound: No hypervisor matching 'x' could be found.",
      );
      expect(await refused(bed, 'GET', `${bad}=rack&limit=1`, at253)).to.match(/^400 .*Paging/);
      expect(await refused(bed, 'GET', `${bad}=%25`, at253)).to.match(/^400 /);
      expect(await refused(bed, 'GET', '/os-hypervisors?x=1', at253)).to.match(/^400 .*'x'/);
      expect(await refused(bed, 'GET', '/os-hypervisors?limit=1&limit=2', at253)).to.match(/^400 .*limit/);
      expect(await refused(bed, 'GET', `/os-hypervisors?marker=${randomUUID()}`, at253)).to.match(/^400 /);
    }));

  it('shows the servers of each when they are asked for; before 2.53 by paths of their own', () =>
    withHttp(async (bed) => {
      await hypervisor(bed, 'a');
      await hypervisor(bed, 'b');
      const uuid = await instanceAt(bed, 'a');
      const servers = async (path: string, version: string): Promise<unknown> =>
        (await shown<List>(bed, path, HYPERVISORS_ANSWER, version)).hypervisors.map((one) => one['servers']);
      const its = [{ name: 'vm1', uuid }];
      expect(await servers('/os-hypervisors?with_servers=true', '2.74')).to.deep.equal([its, undefined]);
      expect(await servers('/os-hypervisors?with_servers=true', '2.75')).to.deep.equal([its, []]);
      expect(await servers('/os-hypervisors', '2.75')).to.deep.equal([undefined, undefined]);
      expect(await servers('/os-hypervisors/a/servers', '2.52')).to.deep.equal([its]);
      expect(await servers('/os-hypervisors/a/search', '2.52')).to.deep.equal([undefined]);
      for (const last of ['servers', 'search']) {
        expect(await refused(bed, 'GET', `/os-hypervisors/x/${last}`)).to.match(/^404 .*matching 'x'/);
        expect(await refused(bed, 'GET', `/os-hypervisors/a/${last}`, { version: '2.53' })).to.match(/^404 /);
      }
    }));

  it('shows those of all cells that can be reached', () =>
    withHttp(async (first) => {
      await withHttp(async (second) => {
        await hypervisor(first, 'a');
        await hypervisor(second, 'b');
        const all = [first, second].map(({ records, computeApi }, index) => ({
          name: String(index),
          records,
          computeApi,
        }));
        const [one] = all;
        if (!one) throw new Error('There are two');
        const cells = {
          mappings: new MemoryMappings(),
          others: () => Promise.resolve(all),
          get: () => Promise.resolve(one),
        };
        await withHttp(
          async (bed) => {
            expect(await names(bed, '', 'latest')).to.equal('a b');
            second.records.services.find = () => Promise.reject(new DatabaseError('away'));
            expect(await names(bed, '', 'latest')).to.equal('a');
          },
          { cells },
        );
      });
    }));
});

describe('compute: os-availability-zone', () => {
  it('lists the zones of hosts; one is available while not all of it is disabled', () =>
    withHttp(async (bed) => {
      await bed.service('a', { availabilityZone: 'east' });
      await bed.service('b', { availabilityZone: 'west' });
      await bed.service('c');
      await bed.service('d', { binary: 'conductor' });
      await bed.records.services.update('compute', 'b', { disabled: true });
      await bed.records.services.update('compute', 'c', { forcedDown: true });
      const zone = (zoneName: string, available: boolean, hosts: object | null = null): object => ({
        zoneName,
        zoneState: { available },
        hosts,
      });
      expect(await shown(bed, '/os-availability-zone', ZONES_ANSWER)).to.deep.equal({
        availabilityZoneInfo: [zone('east', true), zone('nova', true), zone('west', false)],
      });
      const updated_at = `${new Date(bed.nowMs).toISOString().slice(0, -1)}000`;
      const its = (available: boolean): object => ({ available, active: true, updated_at });
      expect(await shown(bed, '/os-availability-zone/detail', ZONES_ANSWER)).to.deep.equal({
        availabilityZoneInfo: [
          zone('east', true, { a: { 'nova-compute': its(true) } }),
          zone('internal', true, { d: { 'nova-conductor': its(true) } }),
          zone('nova', true, { c: { 'nova-compute': its(false) } }),
          zone('west', false),
        ],
      });
      expect(await shown(bed, '/os-aggregates', AGGREGATES_ANSWER)).to.deep.equal({ aggregates: [] });
    }));
});
