import { type ArgsOf, type ComputeMethods, Migration } from '@ebbgate/compute';
import { expect } from 'chai';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';

export const THIRD = 'compute-c';
export const THREE = { hosts: [SOURCE, DEST, THIRD] };

/** An active instance on a host that has died. */
export async function bereft(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.crash(SOURCE);
  return uuid;
}

/** Nothing of the attempt is left at the destination, and the instance belongs to its dead host. */
export async function expectTakenBack(
  test: TestCloud,
  uuid: string,
  state: string,
  host = DEST,
): Promise<void> {
  await test.idle(host);
  expect(await test.stateOf(uuid)).to.equal(`${state}@${SOURCE}`);
  expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
  expect(test.cloud.networking.boundTo(uuid)).to.equal(SOURCE);
  expect(await test.allocatedOn(uuid)).to.deep.equal([SOURCE]);
}

export type Evacuation = ArgsOf<ComputeMethods['rebuild_instance']>;

/** What the conductor sends that has chosen a host; with all that is recorded then. */
export async function evacuation(test: TestCloud, uuid: string, dest: string): Promise<Evacuation> {
  const { instances, migrations } = test.cloud.records;
  const instance = await instances.update(uuid, { task_state: 'rebuilding' });
  const { requestSpec } = test.recorded.bootRequest(9, '');
  const migration = Migration.create({
    uuid: '77777777-0000-4000-8000-000000000001',
    instance_uuid: uuid,
    source_compute: SOURCE,
    dest_compute: dest,
    status: 'accepted',
    migration_type: 'evacuation',
    deleted: false,
  });
  return {
    instance,
    new_pass: null,
    injected_files: [],
    image_ref: null,
    orig_image_ref: null,
    orig_sys_metadata: null,
    bdms: null,
    recreate: true,
    on_shared_storage: null,
    preserve_ephemeral: false,
    migration: await migrations.create(migration),
    scheduled_node: dest,
    limits: null,
    request_spec: requestSpec.update({ instance_uuid: uuid, force_hosts: null }),
    accel_uuids: [],
    reimage_boot_volume: false,
    target_state: null,
  };
}

export async function evacuateTo(test: TestCloud, uuid: string, dest: string): Promise<void> {
  const message = await evacuation(test, uuid, dest);
  await test.cloud.computeApi.cast({}, 'rebuild_instance', dest, message);
}
