import { randomUUID } from 'node:crypto';
import {
  BlockDeviceMapping,
  decodeObjects,
  Flavor,
  type Instance,
  Migration,
  MigrationContext,
  RequestSpec,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { A, B, NovaCloud } from '../support/rigs/nova-cloud.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { BIGGER } from '../unit/compute/resize-words.js';

const rabbit = await sharedRabbit();

describe('a real Nova client that moves, rebuilds and holds instances on our hosts', function () {
  this.timeout(60_000);
  let cloud: NovaCloud;

  before(async function () {
    this.timeout(300_000); // Nova may have to be installed
    cloud = await NovaCloud.start(await rabbit.vhost());
  });

  after(() => cloud.stop());

  async function migrationOf(
    instance: Instance,
    fields: Parameters<(typeof Migration)['create']>[0],
  ): Promise<Migration> {
    return cloud.records.migrations.create(
      Migration.create({
        uuid: randomUUID(),
        instance_uuid: instance.get('uuid'),
        source_compute: A,
        source_node: A,
        dest_compute: null,
        dest_node: null,
        hidden: false,
        cross_cell_move: false,
        ...fields,
      }),
    );
  }

  /** The steps of Nova's API and conductor; what the hosts do is ours. */
  async function resized(): Promise<{ readonly instance: Instance; readonly migration: Migration }> {
    const active = await cloud.buildActive(A);
    const uuid = active.get('uuid');
    const preparing = await cloud.records.instances.update(uuid, { task_state: 'resize_prep' });
    const migration = await migrationOf(preparing, { status: 'pre-migrating', migration_type: 'resize' });
    await cloud.records.allocations.transfer(uuid, migration.get('uuid'));
    await cloud.api('prep_resize', {
      instance: preparing,
      image: {},
      flavor: BIGGER,
      host: B,
      migration,
      request_spec: RequestSpec.create({ instance_uuid: uuid, flavor: BIGGER, is_bfv: false }),
      filter_properties: {},
      node: B,
      clean_shutdown: true,
      host_list: [],
    });
    const instance = await cloud.becomes(uuid, 'resized/-');
    return { instance, migration: await cloud.migrationBecomes(migration.get('uuid'), 'finished') };
  }

  it('resizes an instance, and confirms it', async () => {
    const { instance, migration } = await resized();
    const uuid = instance.get('uuid');
    expect([instance.get('host'), instance.get('memory_mb')]).to.deep.equal([B, 1024]);
    await cloud.records.migrations.update(migration.get('uuid'), { status: 'confirming' });
    await cloud.api('confirm_resize', { instance, migration, host: A, cast: true });
    await cloud.migrationBecomes(migration.get('uuid'), 'confirmed');
    await cloud.becomes(uuid, 'active/-');
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([B]);
  });

  it('resizes an instance, and has it as it was again', async () => {
    const { instance, migration } = await resized();
    const uuid = instance.get('uuid');
    await cloud.records.migrations.update(migration.get('uuid'), { status: 'reverting' });
    const reverting = await cloud.records.instances.update(uuid, { task_state: 'resize_reverting' });
    await cloud.api('revert_resize', { instance: reverting, migration, host: B, request_spec: null });
    const back = await cloud.becomes(uuid, 'active/-');
    expect([back.get('host'), back.get('memory_mb')]).to.deep.equal([A, 512]);
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([A]);
  });

  /** The steps of Nova's conductor between two cells; here one is both. */
  async function resizedToCell(): Promise<{ readonly instance: Instance; readonly migration: Migration }> {
    const { instances, migrations, allocations } = cloud.records;
    const active = await cloud.buildActive(A);
    const uuid = active.get('uuid');
    const preparing = await instances.update(uuid, {
      task_state: 'resize_prep',
      old_flavor: active.get('flavor'),
      new_flavor: BIGGER,
      system_metadata: { old_vm_state: 'active' },
    });
    const toB = { dest_compute: B, dest_node: B, cross_cell_move: true, migration_type: 'resize' } as const;
    const migration = await migrationOf(preparing, { status: 'pre-migrating', ...toB });
    await allocations.transfer(uuid, migration.get('uuid'));
    const spec = RequestSpec.create({ instance_uuid: uuid, flavor: BIGGER, is_bfv: false });
    const told = await cloud.api('prep_snapshot_based_resize_at_dest', {
      instance: preparing,
      flavor: BIGGER,
      nodename: B,
      migration,
      limits: null,
      request_spec: spec,
      destination: B,
    });
    expect(MigrationContext.is(decodeObjects(told))).to.equal(true);
    const image = randomUUID();
    const prepared = { instance: preparing, migration, snapshot_id: image };
    await cloud.api('prep_snapshot_based_resize_at_source', prepared);
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    await cloud.api('finish_snapshot_based_resize_at_dest', {
      instance: await instances.get(uuid),
      migration: await migrations.get(migration.get('uuid')),
      snapshot_id: image,
      request_spec: spec,
    });
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([B]);
    const instance = await cloud.becomes(uuid, 'resized/-');
    return { instance, migration: await cloud.migrationBecomes(migration.get('uuid'), 'finished') };
  }

  it('resizes an instance to another cell, and confirms it there', async () => {
    const { instance, migration } = await resizedToCell();
    expect([instance.get('host'), instance.get('memory_mb')]).to.deep.equal([B, 1024]);
    const confirming = await cloud.records.migrations.update(migration.get('uuid'), { status: 'confirming' });
    await cloud.api('confirm_snapshot_based_resize_at_source', { instance, migration: confirming });
    await cloud.migrationBecomes(migration.get('uuid'), 'confirmed');
    expect(await cloud.records.allocations.find({ consumer: migration.get('uuid') })).to.deep.equal([]);
    expect(cloud.hypervisors.locate(instance.get('uuid'))).to.deep.equal([B]);
  });

  it('resizes an instance to another cell, and has it back as it was', async () => {
    const { instance, migration } = await resizedToCell();
    const uuid = instance.get('uuid');
    const reverting = {
      instance: await cloud.records.instances.update(uuid, { task_state: 'resize_reverting' }),
      migration: await cloud.records.migrations.update(migration.get('uuid'), { status: 'reverting' }),
    };
    await cloud.api('revert_snapshot_based_resize_at_dest', reverting);
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([]);
    // What the other cell has had all the time.
    const { flavor, ...here } = { flavor: instance.get('old_flavor'), host: A, node: A };
    const kept = await cloud.records.instances.update(uuid, { ...here, ...(flavor && { flavor }) });
    await cloud.api('finish_revert_snapshot_based_resize_at_source', { ...reverting, instance: kept });
    await cloud.migrationBecomes(migration.get('uuid'), 'reverted');
    const back = await cloud.becomes(uuid, 'active/-');
    expect(back.get('host')).to.equal(A);
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([A]);
  });

  const rebuild = (instance: Instance, host: string, recreate: boolean, migration: Migration | null) =>
    cloud.api('rebuild_instance', {
      instance,
      new_pass: 'of-nobody',
      injected_files: [],
      image_ref: 'another',
      orig_image_ref: instance.get('image_ref'),
      orig_sys_metadata: {},
      bdms: null,
      recreate,
      on_shared_storage: false,
      host,
      node: host,
      preserve_ephemeral: false,
      migration,
      limits: null,
      request_spec: null,
      accel_uuids: [],
      reimage_boot_volume: false,
    });

  it('rebuilds an instance where it is', async () => {
    const active = await cloud.buildActive(B);
    const uuid = active.get('uuid');
    const rebuilding = await cloud.records.instances.update(uuid, { task_state: 'rebuilding' });
    await rebuild(rebuilding, B, false, null);
    const rebuilt = await cloud.becomes(uuid, 'active/-');
    expect(rebuilt.get('launched_at')?.getTime()).to.be.at.least(active.get('launched_at')?.getTime() ?? 0);
    expect(cloud.hypervisors.locate(uuid)).to.deep.equal([B]);
  });

  for (const [there, back, task, state, backTask] of [
    ['pause_instance', 'unpause_instance', 'pausing', 'paused', 'unpausing'],
    ['suspend_instance', 'resume_instance', 'suspending', 'suspended', 'resuming'],
    ['rescue_instance', 'unrescue_instance', 'rescuing', 'rescued', 'unrescuing'],
  ] as const) {
    it(`has a guest held and let go: ${there}, ${back}`, async () => {
      const uuid = (await cloud.buildActive(B)).get('uuid');
      const begun = await cloud.records.instances.update(uuid, { task_state: task });
      const rescue = there === 'rescue_instance' && { rescue_password: 'of-nobody', rescue_image_ref: null };
      await cloud.api(there, { instance: begun, ...rescue });
      await cloud.becomes(uuid, `${state}/-`);
      await cloud.api(back, {
        instance: await cloud.records.instances.update(uuid, { task_state: backTask }),
      });
      await cloud.becomes(uuid, 'active/-');
    });
  }

  it('shelves an instance, and brings it back on another host', async () => {
    const uuid = (await cloud.buildActive(A)).get('uuid');
    const image = randomUUID();
    const shelving = await cloud.records.instances.update(uuid, { task_state: 'shelving' });
    await cloud.api('shelve_instance', {
      instance: shelving,
      image_id: image,
      clean_shutdown: true,
      accel_uuids: [],
    });
    await cloud.becomes(uuid, 'shelved_offloaded/-');
    expect(cloud.hypervisors.images.has(image)).to.equal(true);
    const coming = await cloud.records.instances.update(uuid, { task_state: 'unshelving' });
    await cloud.api('unshelve_instance', {
      instance: coming,
      host: B,
      request_spec: RequestSpec.create({ instance_uuid: uuid, flavor: coming.get('flavor') }),
      image: { id: image },
      filter_properties: {},
      node: B,
      accel_uuids: [],
    });
    const instance = await cloud.becomes(uuid, 'active/-');
    expect(instance.get('host')).to.equal(B);
    await cloud.located(uuid, [B]);
  });

  it('reserves a disk name and attaches a volume; its own object comes back', async () => {
    const instance = await cloud.buildActive(B);
    const wish = { device: null, volume_id: randomUUID(), disk_bus: null, device_type: null, tag: null };
    const told = await cloud.api('reserve_block_device_name', { instance, ...wish, multiattach: false });
    const bdm = decodeObjects(told);
    expect(BlockDeviceMapping.is(bdm) && bdm.get('device_name')).to.equal('/dev/vdb');
    await cloud.api('attach_volume', { instance, bdm });
    expect(await cloud.api('set_host_enabled', { host: B, enabled: true })).to.equal('enabled');
    await cloud.api('quiesce_instance', { instance });
    await cloud.api('unquiesce_instance', { instance, mapping: null });
    await cloud.api('trigger_crash_dump', { instance });
    await cloud.records.instances.update(instance.get('uuid'), { task_state: 'updating_password' });
    expect(await cloud.api('set_admin_password', { instance, new_pass: 'of-nobody' })).to.equal(null);
  });

  it('asks our scheduler for hosts, as its conductor does, and tells it the news of a host', async () => {
    const instance = await cloud.buildActive(B);
    const spec = RequestSpec.create({ instance_uuid: instance.get('uuid'), flavor: instance.get('flavor') });
    const wanted = {
      spec_obj: spec,
      instance_uuids: [randomUUID()],
      return_objects: true,
      return_alternates: true,
    };
    const answer = await cloud.nova.api('select_destinations', wanted, 'scheduler');
    const [list = []] = decodeObjects(answer) as { readonly identity: { readonly name: string } }[][];
    expect(list.map(({ identity }) => identity.name)).to.deep.equal(['Selection', 'Selection']);
    const news = { host_name: B, instance_uuid: instance.get('uuid') };
    expect(await cloud.nova.api('delete_instance_info', news, 'scheduler')).to.equal(null);
  });

  it('saves an instance over our conductor, and has an object made older', async () => {
    const instance = await cloud.buildActive(B);
    const saved = await cloud.nova.save(instance.pristine().update({ display_name: 'renamed' }), null);
    expect(saved.changes).to.deep.equal([]);
    const now = await cloud.records.instances.get(instance.get('uuid'));
    expect(now.get('display_name')).to.equal('renamed');
    const wrong = cloud.nova.save(instance.pristine().update({ display_name: 'again' }), 'rebooting');
    expect((await cloud.failureOf(wrong)).type).to.equal('UnexpectedTaskStateError_Remote');
    const older = await cloud.nova.api(
      'object_backport_versions',
      { objinst: Flavor.create({ id: 1, description: null }), object_versions: { Flavor: '1.1' } },
      'conductor',
    );
    expect(older).to.deep.include({ 'nova_object.version': '1.1' });
  });

  it('evacuates an instance from a host that is dead', async () => {
    const active = await cloud.buildActive(A);
    const uuid = active.get('uuid');
    await cloud.kill(A);
    await cloud.records.services.update('compute', A, { forcedDown: true });
    const rebuilding = await cloud.records.instances.update(uuid, { task_state: 'rebuilding' });
    const evacuation = {
      status: 'accepted',
      migration_type: 'evacuation',
      dest_compute: B,
      dest_node: B,
    } as const;
    const migration = await migrationOf(rebuilding, evacuation);
    await rebuild(rebuilding, B, true, migration);
    await cloud.migrationBecomes(migration.get('uuid'), 'done');
    const moved = await cloud.becomes(uuid, 'active/-');
    expect(moved.get('host')).to.equal(B);
  });
});
