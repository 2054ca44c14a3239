import {
  decodeObjects,
  Instance,
  LibvirtLiveMigrateData,
  Migration,
  RemoteNetworking,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { A, B, NovaCloud } from '../support/rigs/nova-cloud.js';
import type { NovaArgs } from '../support/rigs/python-nova.js';
import type { OsloError } from '../support/rigs/python-oslo.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();

describe('a real Nova client that drives our compute daemons', function () {
  this.timeout(60_000);
  let cloud: NovaCloud;

  before(async function () {
    this.timeout(300_000); // Nova may have to be installed
    cloud = await NovaCloud.start(await rabbit.vhost());
  });

  after(() => cloud.stop());

  const api = (method: string, args: NovaArgs): Promise<unknown> => cloud.api(method, args);
  const failureOf = (promise: Promise<unknown>): Promise<OsloError> => cloud.failureOf(promise);
  const becomes = (uuid: string, state: string): Promise<Instance> => cloud.becomes(uuid, state);

  it('asks a host how long it is up, and whether it is there at all', async () => {
    expect(await api('get_host_uptime', { host: A })).to.match(/up/);
    const ping = cloud.nova.python.send({ command: 'ping', topic: 'compute', server: B });
    expect(await ping).to.deep.equal([{ service: 'compute', arg: 'there?' }, null]);
  });

  it('builds an instance, which waits for the event that Nova then sends; and asks for its console', async () => {
    const networking = new RemoteNetworking(cloud.transport);
    const uuid = await cloud.build(A, (fresh) => networking.hold(fresh));
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
    const uuid = await cloud.build(A);
    const instance = await becomes(uuid, 'active/-');
    await cloud.records.instances.update(uuid, { task_state: 'migrating' });
    const migration = await cloud.records.migrations.create(
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
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([B]);
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
      failureOf(cloud.nova.python.send({ command: 'call_raw', method, server: A, ...more }));
    // Nova rebuilds its own exceptions only; what others raise is told by name.
    const told = async (method: string, more: object = {}): Promise<string | undefined> =>
      /^Remote error: (\w+)/.exec((await raw(method, more)).message)?.[1];
    expect(await told('get_host_uptime', { version: '6.9' })).to.equal('UnsupportedVersion');
    expect(await told('no_such_method')).to.equal('NoSuchMethod');
    expect(await told('_secret')).to.equal('NoSuchMethod');
    expect(await told('get_host_uptime', { args: { surprise: 1 } })).to.equal('ValidationError');
  });

  it('stops, starts and reboots an instance, and ends it', async () => {
    const uuid = await cloud.build(B);
    let instance = await becomes(uuid, 'active/-');
    await cloud.records.instances.update(uuid, { task_state: 'powering-off' });
    await api('stop_instance', { instance, do_cast: true, clean_shutdown: true });
    instance = await becomes(uuid, 'stopped/-');
    await cloud.records.instances.update(uuid, { task_state: 'powering-on' });
    await api('start_instance', { instance });
    instance = await becomes(uuid, 'active/-');
    await cloud.records.instances.update(uuid, { task_state: 'rebooting' });
    await api('reboot_instance', { instance, block_device_info: null, reboot_type: 'SOFT' });
    instance = await becomes(uuid, 'active/-');
    await cloud.records.instances.update(uuid, { task_state: 'deleting' });
    await api('terminate_instance', { instance, bdms: null });
    await cloud.located(uuid, []);
  });

  it('has images fetched, under its call monitor', async () => {
    expect(await api('cache_images', { host: A, image_ids: ['one', 'two'] })).to.deep.equal({
      one: 'cached',
      two: 'cached',
    });
  });
});
