import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import {
  decodeObjects,
  HypervisorDirectory,
  Instance,
  LibvirtLiveMigrateData,
  Migration,
  RemoteNetworking,
  RemoteRecords,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { rejectionOf } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import { type NovaArgs, type NovaPeer, startNovaPeer } from '../support/rigs/python-nova.js';
import { OsloError } from '../support/rigs/python-oslo.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const recorded = await RecordedJob.read({ freshIds: true });
const A = 'compute-a';
const B = 'compute-b';
const LIMIT_MS = 20_000;

describe('a real Nova client that drives our compute daemons', function () {
  this.timeout(60_000);
  const daemons: DaemonProcess[] = [];
  let folder: string;
  let transport: Transport;
  let records: RemoteRecords;
  let nova: NovaPeer;

  before(async function () {
    this.timeout(300_000); // Nova may have to be installed
    const url = await rabbit.vhost();
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const start = async (...argv: string[]): Promise<void> => {
      const daemon = new DaemonProcess(url, argv, { limitMs: 300_000 });
      daemons.push(daemon);
      await daemon.serves();
    };
    const peer = startNovaPeer(url);
    await start('conductor', '--name', 'c1', '--scheduler', 'local', '--ops-topic', 'compute-alt');
    const host = [
      '--state-dir',
      folder,
      '--ops-topic',
      'compute-alt',
      '--boot-ms',
      '20',
      '--migration-ms',
      '50',
    ];
    await Promise.all([start('compute', '--host', A, ...host), start('compute', '--host', B, ...host)]);
    nova = await peer;
    transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    records = new RemoteRecords(transport, { timeoutMs: 10_000 });
  });

  after(async () => {
    for (const { child } of daemons) child.kill('SIGKILL');
    await Promise.all([...daemons.map(({ ended }) => ended), nova.python.kill(), transport.close()]);
    await rm(folder, { recursive: true });
  });

  function api(method: string, args: NovaArgs): Promise<unknown> {
    return within(`${method} of Nova`, LIMIT_MS, nova.api(method, args));
  }

  async function failureOf(promise: Promise<unknown>): Promise<OsloError> {
    const error = await rejectionOf(promise);
    if (error instanceof OsloError) return error;
    throw error;
  }

  async function becomes(uuid: string, state: string): Promise<Instance> {
    let instance = await records.instances.get(uuid);
    await eventually(`instance ${uuid} is ${state}`, LIMIT_MS, async () => {
      instance = await records.instances.get(uuid);
      return `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}` === state;
    });
    return instance;
  }

  let number = 0;

  /** Stores what Nova's API and conductor would have stored, and has Nova send the build to a host; gives the uuid. */
  async function build(
    host: string,
    first: (uuid: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<string> {
    number += 1;
    const { instance: wanted, requestSpec, image } = recorded.bootRequest(number, host);
    const stored = await records.instances.create(
      wanted.pristine().update({ vm_state: 'building', task_state: 'scheduling', host: null, node: null }),
    );
    await first(stored.get('uuid'));
    await api('build_and_run_instance', {
      instance: stored,
      host,
      image,
      request_spec: requestSpec,
      filter_properties: {},
      injected_files: [],
      requested_networks: null,
      security_groups: [],
      block_device_mapping: null,
      node: host,
      limits: null,
      host_list: [],
      accel_uuids: [],
    });
    return stored.get('uuid');
  }

  it('asks a host how long it is up, and whether it is there at all', async () => {
    expect(await api('get_host_uptime', { host: A })).to.match(/up/);
    const ping = nova.python.send({ command: 'ping', topic: 'compute', server: B });
    expect(await ping).to.deep.equal([{ service: 'compute', arg: 'there?' }, null]);
  });

  it('builds an instance, which waits for the event that Nova then sends; and asks for its console', async () => {
    const networking = new RemoteNetworking(transport);
    const uuid = await build(A, (fresh) => networking.hold(fresh));
    const instance = await becomes(uuid, 'building/spawning');
    const [port] = await networking.portsOf(uuid);
    await api('external_instance_event', {
      instances: [instance],
      events: [
        {
          'nova_object.name': 'InstanceExternalEvent',
          'nova_object.namespace': 'nova',
          'nova_object.version': '1.5',
          'nova_object.data': {
            instance_uuid: uuid,
            name: 'network-vif-plugged',
            status: 'completed',
            tag: port ?? null,
          },
        },
      ],
    });
    const active = await becomes(uuid, 'active/-');
    const console = { instance: active, port: '5900', console_type: 'novnc' };
    expect(await api('validate_console_port', console)).to.be.a('boolean');
  });

  it('moves an instance live, the steps of Nova’s conductor by Nova, those of the hosts by us', async () => {
    const uuid = await build(A);
    const instance = await becomes(uuid, 'active/-');
    await records.instances.update(uuid, { task_state: 'migrating' });
    const migration = await records.migrations.create(
      Migration.create({
        uuid: `b2b2b2b2-0000-4000-8000-${String(Date.now()).padStart(12, '0').slice(-12)}`,
        instance_uuid: uuid,
        source_compute: A,
        source_node: A,
        dest_compute: B,
        dest_node: B,
        status: 'accepted',
        migration_type: 'live-migration',
      }),
    );
    const question = {
      instance,
      destination: B,
      block_migration: null,
      disk_over_commit: false,
      migration,
      limits: null,
    };
    const answer = await api('check_can_live_migrate_destination', question);
    const migrateData = decodeObjects(answer); // Nova has read it, and wrote it again
    expect(LibvirtLiveMigrateData.is(migrateData)).to.equal(true);
    await api('live_migration', {
      instance,
      dest: B,
      block_migration: false,
      host: A,
      migration,
      migrate_data: migrateData,
    });
    const moved = await becomes(uuid, 'active/-');
    expect(moved.get('host')).to.equal(B);
    expect(new HypervisorDirectory(folder).locate(uuid)).to.deep.equal([B]);
    expect(await failureOf(api('check_can_live_migrate_destination', question))).to.deep.include({
      type: 'MigrationPreCheckError_Remote',
      module: 'nova.exception_Remote',
    });
  });

  it('gets our refusal as an exception of its own, with its base classes', async () => {
    const instance = Instance.create({ uuid: 'a1a1a1a1-0000-4000-8000-00000000ffff', host: A });
    const error = await failureOf(
      api('check_can_live_migrate_destination', {
        instance,
        destination: B,
        block_migration: null,
        disk_over_commit: false,
        migration: Migration.create({ uuid: 'b2b2b2b2-0000-4000-8000-00000000ffff' }),
        limits: null,
      }),
    );
    expect(error.mro).to.include.members(['MigrationPreCheckError', 'MigrationError', 'NovaException']);
    expect(error.message).to.contain('The guest is not here');
  });

  it('is refused a version, a method and arguments that no host has, as by a host of Nova’s', async () => {
    const raw = (method: string, more: object): Promise<OsloError> =>
      failureOf(nova.python.send({ command: 'call_raw', method, server: A, ...more }));
    // Nova rebuilds its own exceptions only; what others raise is told by name.
    const told = async (method: string, more: object = {}): Promise<string | undefined> =>
      /^Remote error: (\w+)/.exec((await raw(method, more)).message)?.[1];
    expect(await told('get_host_uptime', { version: '6.9' })).to.equal('UnsupportedVersion');
    expect(await told('no_such_method')).to.equal('NoSuchMethod');
    expect(await told('_secret')).to.equal('NoSuchMethod');
    expect(await told('get_host_uptime', { args: { surprise: 1 } })).to.equal('ValidationError');
  });

  it('stops, starts and reboots an instance, and ends it', async () => {
    const uuid = await build(B);
    let instance = await becomes(uuid, 'active/-');
    await records.instances.update(uuid, { task_state: 'powering-off' });
    await api('stop_instance', { instance, do_cast: true, clean_shutdown: true });
    instance = await becomes(uuid, 'stopped/-');
    await records.instances.update(uuid, { task_state: 'powering-on' });
    await api('start_instance', { instance });
    instance = await becomes(uuid, 'active/-');
    await records.instances.update(uuid, { task_state: 'rebooting' });
    await api('reboot_instance', { instance, block_device_info: null, reboot_type: 'SOFT' });
    instance = await becomes(uuid, 'active/-');
    await records.instances.update(uuid, { task_state: 'deleting' });
    await api('terminate_instance', { instance, bdms: null });
    await eventually(
      'the guest is gone',
      LIMIT_MS,
      async () => new HypervisorDirectory(folder).locate(uuid).length === 0,
    );
  });

  it('has images fetched, under its call monitor', async () => {
    expect(await api('cache_images', { host: A, image_ids: ['one', 'two'] })).to.deep.equal({
      one: 'cached',
      two: 'cached',
    });
  });
});
