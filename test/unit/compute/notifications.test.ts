import { silentLogger } from '@ebbgate/core';
import { type TaskState, versionedNotifications, type VirtStep, type VmState } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { eventually } from '../../support/rigs/deadline.js';
import { share, VOLUME } from './attached.js';
import { bereft } from './evacuation-words.js';
import { type HttpCloud, withHttpCloud } from './http-cloud.js';
import { allIdle, BIGGER } from './resize-words.js';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';
import { checkTold, Told, toldDuring, wholeOf, withTold } from './told.js';
import { withTwoCells } from './two-cells.js';

/** Asks for something, and waits for what the instance is then. */
interface Asked {
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  readonly then: string;
  readonly told: readonly string[];
}

const control =
  (what: 'pause' | 'unpause' | 'suspend' | 'resume' | 'unrescue') =>
  (test: TestCloud, uuid: string): Promise<unknown> =>
    test.cloud.controls.ask({}, uuid, what);

/** One after another, of one instance that is active at first. */
const IN_PLACE: readonly Asked[] = [
  { ask: (test, uuid) => test.cloud.actions.stop({}, uuid), then: 'stopped/-', told: ['power_off'] },
  { ask: (test, uuid) => test.cloud.actions.start({}, uuid), then: 'active/-', told: ['power_on'] },
  { ask: (test, uuid) => test.cloud.actions.reboot({}, uuid), then: 'active/-', told: ['reboot'] },
  { ask: control('pause'), then: 'paused/-', told: ['pause'] },
  { ask: control('unpause'), then: 'active/-', told: ['unpause'] },
  { ask: control('suspend'), then: 'suspended/-', told: ['suspend'] },
  { ask: control('resume'), then: 'active/-', told: ['resume'] },
  { ask: (test, uuid) => test.cloud.controls.rescue({}, uuid), then: 'rescued/-', told: ['rescue'] },
  { ask: control('unrescue'), then: 'active/-', told: ['unrescue'] },
  { ask: (test, uuid) => test.cloud.actions.snapshot({}, uuid), then: 'active/-', told: ['snapshot'] },
  { ask: (test, uuid) => test.cloud.rebuilds.rebuild({}, uuid), then: 'active/-', told: ['rebuild'] },
  {
    ask: (test, uuid) => test.cloud.controls.shelve({}, uuid),
    then: 'shelved_offloaded/-',
    told: ['shelve', 'shelve_offload'],
  },
];

function failNext(test: TestCloud, step: VirtStep, host: string = SOURCE): void {
  test.virt(host).steps.failNext(step);
}

describe('notifications of what is done to an instance (FD-26)', () => {
  it('tell of its boot and its delete, in the order of upstream', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      await allIdle(test);
      expect(told.words).to.deep.equal(wholeOf('create', SOURCE));
      const deleted = await toldDuring(test, told, () => test.cloud.actions.delete({}, uuid));
      expect(deleted).to.deep.equal([
        `delete.start @ ${SOURCE}`,
        `shutdown.start @ ${SOURCE}`,
        `shutdown.end @ ${SOURCE}`,
        `delete.end @ ${SOURCE}`,
      ]);
      expect(told.data('instance.delete.end')).to.include({ state: 'deleted', task_state: null });
    }));

  it('tell what upstream tells of an instance, of its request and of its size', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      await allIdle(test);
      const [start, end] = ['start', 'end'].map((phase) => told.data(`instance.create.${phase}`));
      const { values } = test.recorded.context;
      expect(start).to.include({ uuid, state: 'building', power_state: 'pending', launched_at: null });
      expect(end).to.include({
        uuid,
        tenant_id: (await test.cloud.records.instances.get(uuid)).get('project_id'),
        host: SOURCE,
        node: SOURCE,
        state: 'active',
        task_state: null,
        power_state: 'running',
        request_id: values['request_id'],
        action_initiator_user: values['user_id'],
        locked: false,
        auto_disk_config: 'MANUAL',
        fault: null,
      });
      expect(end?.['launched_at']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      const flavor = end?.['flavor'] as { readonly 'nova_object.data': object };
      expect(flavor['nova_object.data']).to.include({ memory_mb: 512, vcpus: 1 });
      expect(told.all.map(({ payload }) => payload['nova_object.name'])).to.deep.equal([
        'InstanceCreatePayload',
        'InstanceCreatePayload',
      ]);
    }));

  it('tell of a boot that fails, with its fault and the priority error, before it is tried elsewhere', () =>
    withTold({}, async (test, told) => {
      failNext(test, 'start-guest');
      const uuid = await test.boot();
      await test.becomes(uuid, 'error/-');
      await allIdle(test);
      expect(told.words.slice(0, 2)).to.deep.equal([`create.start @ ${SOURCE}`, `create.error @ ${SOURCE}`]);
      expect(told.all[1]?.priority).to.equal('error');
      const fault = told.data('instance.create.error')['fault'] as { readonly 'nova_object.data': object };
      expect(fault['nova_object.data']).to.include({ exception: 'HypervisorError', traceback: '' });
    }));

  it('tell of each action where it is, its beginning and its end', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      for (const { ask, then, told: actions } of IN_PLACE) {
        const words = await toldDuring(test, told, async () => {
          await ask(test, uuid);
          await test.becomes(uuid, then);
        });
        expect(words).to.deep.equal(actions.flatMap((action) => wholeOf(action, SOURCE)));
      }
      const back = await toldDuring(test, told, async () => {
        await test.cloud.controls.unshelve({}, uuid);
        await test.becomes(uuid, 'active/-');
      });
      expect(back.map((one) => one.split(' ')[0])).to.deep.equal(['unshelve.start', 'unshelve.end']);
    }));

  it('name the image, the volume and the share that an action is about', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      const image = await test.cloud.actions.snapshot({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.cloud.controls.addVolume({}, uuid, VOLUME);
      await allIdle(test);
      const instance = await test.cloud.records.instances.get(uuid);
      await test.cloud.computeApi.cast({}, 'allow_share', SOURCE, {
        instance,
        share_mapping: share(instance),
      });
      await test.watch.instance(uuid, (one) => (one.find('share_mapping') ?? []).length === 1);
      await allIdle(test);
      const attaching = told.words.filter((one) => /^(volume|share)_attach/.test(one));
      expect(attaching).to.deep.equal([
        ...wholeOf('volume_attach', SOURCE),
        ...wholeOf('share_attach', SOURCE),
      ]);
      expect(told.data('instance.snapshot.end')).to.include({ snapshot_image_id: image });
      expect(told.data('instance.volume_attach.start')).to.include({ volume_id: VOLUME });
      const attached = told.data('instance.volume_attach.end');
      expect(attached['block_devices']).to.have.nested.property('[0].nova_object\\.data.volume_id', VOLUME);
      const shared = told.data('instance.share_attach.end');
      expect(shared).to.include({ share_id: share(instance).get('share_id') });
      expect(JSON.stringify(told.all)).to.not.include('a-secret');
    }));

  it('tell of a crash dump, and of a volume that cannot be attached', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      const dump = test.virt(SOURCE).steps.hold('inject-nmi', uuid);
      const dumped = await toldDuring(test, told, async () => {
        await test.cloud.controls.crashDump({}, uuid);
        await dump.reached;
        dump.release();
      });
      expect(dumped).to.deep.equal(wholeOf('trigger_crash_dump', SOURCE));
      failNext(test, 'attach-volume');
      const hold = test.virt(SOURCE).steps.hold('attach-volume', uuid);
      const attached = await toldDuring(test, told, async () => {
        await test.cloud.controls.addVolume({}, uuid, VOLUME);
        await hold.reached;
        hold.release();
      });
      expect(attached).to.deep.equal([`volume_attach.start @ ${SOURCE}`, `volume_attach.error @ ${SOURCE}`]);
    }));

  it('tell of a reboot that fails with the guest running, and that it has ended; of no other end', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      failNext(test, 'reboot-soft');
      const soft = await toldDuring(test, told, async () => {
        await test.cloud.actions.reboot({}, uuid);
        await test.becomes(uuid, 'active/-');
      });
      expect(soft).to.deep.equal([
        `reboot.start @ ${SOURCE}`,
        `reboot.error @ ${SOURCE}`,
        `reboot.end @ ${SOURCE}`,
      ]);
      failNext(test, 'power-off');
      const stop = await toldDuring(test, told, async () => {
        await test.cloud.actions.stop({}, uuid);
        await test.becomes(uuid, 'active/-');
      });
      expect(stop).to.deep.equal([`power_off.start @ ${SOURCE}`]);
    }));

  it('tell of a rebuild that fails, and stop what was stopped within it', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      await test.cloud.actions.stop({}, uuid);
      await test.becomes(uuid, 'stopped/-');
      const rebuilt = await toldDuring(test, told, async () => {
        await test.cloud.rebuilds.rebuild({}, uuid);
        await test.becomes(uuid, 'stopped/-');
      });
      expect(rebuilt).to.deep.equal([
        `rebuild.start @ ${SOURCE}`,
        ...wholeOf('power_off', SOURCE),
        `rebuild.end @ ${SOURCE}`,
      ]);
      failNext(test, 'start-guest');
      const failed = await toldDuring(test, told, async () => {
        await test.cloud.rebuilds.rebuild({}, uuid);
        await test.becomes(uuid, 'error/-');
      });
      expect(failed).to.deep.equal([`rebuild.start @ ${SOURCE}`, `rebuild.error @ ${SOURCE}`]);
    }));

  it('tell of an evacuation that is asked for, and as of a rebuild, where the instance comes', () =>
    withTold({}, async (test, told) => {
      const uuid = await bereft(test);
      told.forget();
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.migrationBecomes(uuid, 'done');
      await test.idle(DEST);
      expect(told.words).to.deep.equal(['evacuate @ api:api-1', ...wholeOf('rebuild', DEST)]);
      expect(told.data('instance.rebuild.end')).to.include({ host: DEST });
    }));
});

describe('notifications of what an API is asked for', () => {
  it('tell of a lock and its end, with the reason', async () => {
    const told = new Told();
    const { ofApi } = versionedNotifications({ sink: told, logger: silentLogger });
    const work = async (http: HttpCloud): Promise<void> => {
      const id = await http.boot();
      await http.act(id, { lock: { locked_reason: 'audit' } });
      await http.act(id, { unlock: null });
    };
    await withHttpCloud(work, { emitAsked: ofApi('api-1') });
    expect(told.words).to.deep.equal(['lock @ api:api-1', 'unlock @ api:api-1']);
    expect(told.data('instance.lock')).to.include({ locked: true, locked_reason: 'audit' });
    expect(told.data('instance.unlock')).to.include({ locked: false, locked_reason: null });
    await checkTold(told);
  });
});

describe('notifications of a move of an instance', () => {
  it('tell of a live migration, each of its steps where it is', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      const words = await toldDuring(test, told, async () => {
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'completed');
      });
      expect(words).to.deep.equal([
        ...wholeOf('live_migration_pre', DEST),
        `live_migration_post.start @ ${SOURCE}`,
        ...wholeOf('live_migration_post_dest', DEST),
        `live_migration_post.end @ ${SOURCE}`,
      ]);
      expect(told.data('instance.live_migration_post_dest.end')).to.include({ host: DEST, task_state: null });
    }));

  it('tell of one that fails, at both ends', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      failNext(test, 'copy-memory');
      const words = await toldDuring(test, told, async () => {
        await test.migrate(uuid);
        await test.migrationBecomes(uuid, 'failed');
      });
      expect(words.slice(0, 3)).to.deep.equal([
        ...wholeOf('live_migration_pre', DEST),
        `live_migration_rollback.start @ ${SOURCE}`,
      ]);
      expect([...words].sort()).to.deep.equal(
        [
          ...wholeOf('live_migration_pre', DEST),
          ...wholeOf('live_migration_rollback', SOURCE),
          ...wholeOf('live_migration_rollback_dest', DEST),
        ].sort(),
      );
    }));

  it('tell of an abort, and of being made to complete', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      for (const [action, status] of [
        ['abort', 'cancelled'],
        ['force_complete', 'completed'],
      ] as const) {
        const hold = test.virt(SOURCE).steps.hold('copy-memory', uuid);
        const words = await toldDuring(test, told, async () => {
          await test.migrate(uuid);
          await hold.reached;
          if (action === 'abort') await test.cloud.actions.abortLiveMigration({}, uuid);
          else await test.cloud.actions.forceCompleteLiveMigration({}, uuid);
          if (action === 'abort') await test.migrationBecomes(uuid, status);
          hold.release();
          await test.migrationBecomes(uuid, status);
        });
        const asked = words.filter((one) => one.startsWith(`live_migration_${action}`));
        expect(asked).to.deep.equal(wholeOf(`live_migration_${action}`, SOURCE));
      }
    }));

  it('tell of a resize, its confirm and its revert', () =>
    withTold({}, async (test, told) => {
      const uuid = await test.bootActive();
      const resize = async (): Promise<void> => {
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'resized/-');
      };
      const words = await toldDuring(test, told, resize);
      expect([...words].sort()).to.deep.equal(
        [
          ...wholeOf('resize_prep', DEST),
          ...wholeOf('resize', SOURCE),
          ...wholeOf('resize_finish', DEST),
        ].sort(),
      );
      for (const action of ['resize_prep', 'resize', 'resize_finish'])
        expect(words.indexOf(`${action}.start @ ${action === 'resize' ? SOURCE : DEST}`)).to.be.lessThan(
          words.indexOf(`${action}.end @ ${action === 'resize' ? SOURCE : DEST}`),
        );
      const size = told.data('instance.resize_prep.start')['new_flavor'];
      expect(size).to.have.nested.property('nova_object\\.data.memory_mb', 1024);
      const reverted = await toldDuring(test, told, async () => {
        await test.cloud.moves.revertResize({}, uuid);
        await test.becomes(uuid, 'active/-');
      });
      expect(reverted).to.deep.equal(wholeOf('resize_revert', SOURCE));
      await allIdle(test);
      await resize();
      const confirmed = await toldDuring(test, told, async () => {
        await test.cloud.moves.confirmResize({}, uuid);
        await test.migrationBecomes(uuid, 'confirmed');
      });
      expect(confirmed).to.deep.equal(wholeOf('resize_confirm', SOURCE));
    }));

  it('tell of a resize to another cell by its hosts, and of its confirm and revert by the conductor', async () => {
    const told = new Told();
    const notifications = versionedNotifications({ sink: told, logger: silentLogger });
    await withTwoCells({ notifications }, async (cells) => {
      for (const end of ['confirm', 'revert'] as const) {
        const uuid = await cells.first.bootActive(SOURCE);
        await cells.settled();
        told.forget();
        await cells.resize(uuid);
        await cells.moved(uuid);
        expect(told.words).to.deep.equal([
          ...wholeOf('resize_prep', DEST),
          ...wholeOf('resize', SOURCE),
          ...wholeOf('resize_finish', DEST),
        ]);
        told.forget();
        await cells[end](uuid);
        await eventually(`the end of the ${end}`, 4000, () => told.words.length >= 2);
        expect(told.words).to.deep.equal(wholeOf(`resize_${end}`, 'conductor-1'));
        await cells.settled();
      }
    });
    await checkTold(told);
  });

  it('tell of a move that no host can take, by the conductor, with the priority error', () =>
    withTold({ hosts: [SOURCE] }, async (test, told) => {
      const uuid = await test.bootActive();
      const words = await toldDuring(test, told, async () => {
        await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
        await test.becomes(uuid, 'active/-');
      });
      expect(words).to.deep.equal(['compute_task.migrate_server.error @ conductor:conductor-1']);
      expect(told.all[0]?.priority).to.equal('error');
      expect(told.data('compute_task.migrate_server.error')).to.include({
        instance_uuid: uuid,
        state: 'active',
      });
    }));
});

describe('notifications of the records', () => {
  it('tell of each change of a state when that is asked for, with the state before', () =>
    withTold({ stateChanges: 'vm_and_task_state' }, async (test, told) => {
      const uuid = await test.bootActive();
      await toldDuring(test, told, async () => {
        await test.cloud.actions.stop({}, uuid);
        await test.becomes(uuid, 'stopped/-');
      });
      const updates = told.all.filter(({ eventType }) => eventType === 'instance.update');
      const states = updates.map(({ payload, publisherId }) => {
        const update = payload['nova_object.data']['state_update'] as {
          readonly 'nova_object.data': {
            readonly old_state: VmState;
            readonly state: VmState;
            readonly old_task_state: TaskState;
            readonly new_task_state: TaskState;
          };
        };
        return { publisherId, ...update['nova_object.data'] };
      });
      const by = { publisherId: `nova-compute:${SOURCE}` };
      expect(states).to.deep.equal([
        {
          ...by,
          old_state: 'active',
          state: 'active',
          old_task_state: null,
          new_task_state: 'powering-off',
        },
        {
          ...by,
          old_state: 'active',
          state: 'stopped',
          old_task_state: 'powering-off',
          new_task_state: null,
        },
      ]);
    }));

  it('tell only of what an instance is when the tasks are left out', () =>
    withTold({ stateChanges: 'vm_state' }, async (test, told) => {
      const uuid = await test.bootActive();
      await toldDuring(test, told, async () => {
        await test.cloud.actions.stop({}, uuid);
        await test.becomes(uuid, 'stopped/-');
      });
      expect(told.words.filter((one) => one.startsWith('update'))).to.deep.equal([`update @ ${SOURCE}`]);
    }));

  it('tell of services (FD-26)', () =>
    withTold({}, async (test, told) => {
      await test.cloud.records.services.update('compute', SOURCE, {
        disabled: true,
        disabledReason: 'disks',
      });
      await test.cloud.records.services.delete('compute', DEST);
      expect(told.words).to.deep.equal([`service.update @ ${SOURCE}`, `service.delete @ ${DEST}`]);
      expect(told.data('service.update')).to.include({ disabled: true, disabled_reason: 'disks' });
    }));
});
