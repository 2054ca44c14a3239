import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../../objects/instance.js';
import { isFinal, type TaskState } from '../../objects/states.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, cutOff } from '../instance-action.js';
import { Evacuate } from './evacuate.js';
import { Power } from './power.js';
import { beginGuestAction, GUEST_ACTION_OF } from './guest-actions.js';
import { Rebuild } from './rebuild.js';
import { Shelve } from './shelve.js';
import { Terminate } from './terminate.js';
import { Unshelve } from './unshelve.js';

/** What is done again, from the beginning, when it was cut off: it can be done twice. */
type Again = (host: HostContext, context: RequestContext, instance: Instance) => void | Promise<void>;

const rebootAgain =
  (asked: 'rebooting' | 'rebooting_hard'): Again =>
  async (host, context, instance) => {
    const uuid = instance.get('uuid');
    const expected = { task_state: [instance.get('task_state')], host: [host.host] };
    const wanted = await host.records.instances.update(uuid, { task_state: asked }, expected);
    const type = asked === 'rebooting' ? 'SOFT' : 'HARD';
    new Power(host).reboot(context, { instance: wanted, block_device_info: null, reboot_type: type });
  };

const takeBack: Again = async (host, _context, instance) => {
  await afterFailure(host, instance.get('uuid'), [instance.get('task_state')], cutOff());
};

const failed: Again = async (host, _context, instance) => {
  const tasks = [instance.get('task_state')];
  await afterFailure(host, instance.get('uuid'), tasks, cutOff(), { vm_state: 'error' });
};

/** `rebuilding` is not here: nothing has been done, and its request can still be in the queue (GS-75). */
const AFTER: ReadonlyMap<TaskState, Again> = new Map<TaskState, Again>([
  [
    'deleting',
    (host, context, instance) => {
      new Terminate(host).begin(context, { instance, bdms: null });
    },
  ],
  [
    'powering-on',
    (host, context, instance) => {
      new Power(host).start(context, { instance });
    },
  ],
  [
    'powering-off',
    (host, context, instance) => {
      new Power(host).stop(context, { instance, clean_shutdown: true });
    },
  ],
  ['rebooting', rebootAgain('rebooting')],
  ['reboot_started', rebootAgain('rebooting')],
  ['rebooting_hard', rebootAgain('rebooting_hard')],
  ['reboot_started_hard', rebootAgain('rebooting_hard')],
  ['image_snapshot', takeBack],
  ['image_uploading', takeBack],
  ['rebuild_block_device_mapping', failed],
  ['rebuild_spawning', failed],
  ...[...GUEST_ACTION_OF].map(([task, name]): [TaskState, Again] => [
    task,
    (host, context, instance) => {
      beginGuestAction(host, context, name, { instance });
    },
  ]),
  ['updating_password', takeBack],
  ...(['shelving', 'shelving_image_pending_upload', 'shelving_image_uploading'] as const).map(
    (task): [TaskState, Again] => [
      task,
      (host, context, instance) => {
        new Shelve(host).resume(context, instance);
      },
    ],
  ),
  [
    'shelving_offloading',
    (host, context, instance) => {
      new Shelve(host).beginOffload(context, { instance, clean_shutdown: false });
    },
  ],
  // Of a build it is seen to with the builds.
  [
    'spawning',
    async (host, _context, instance) => {
      const uuid = instance.get('uuid');
      if (instance.get('vm_state') === 'shelved_offloaded') await new Unshelve(host).takeBack(uuid, cutOff());
    },
  ],
]);

/**
 * Takes up, or back, what a run that was cut off has left of the actions on instances here (COMP-07). Each instance is
 * seen to for itself (COMP-15), and one that is being evacuated from here is left alone (COMP-14).
 */
export async function recoverActions(host: HostContext, context: RequestContext): Promise<void> {
  await new Evacuate(host, new Rebuild(host)).recover();
  for (const instance of await host.records.instances.find({ host: host.host })) {
    const again = AFTER.get(instance.get('task_state'));
    if (!again || instance.get('vm_state') === 'deleted') continue;
    try {
      if (await isBeingEvacuated(host, instance)) continue;
      host.logger.info(
        { instance: instance.get('uuid'), task: instance.get('task_state') },
        'Something done to an instance was cut off',
      );
      await again(host, context, instance);
    } catch (error) {
      host.logger.error({ err: error, instance: instance.get('uuid') }, 'An instance could not be recovered');
    }
  }
}

/** Others are at it: then nothing is done to it here. */
export async function isBeingEvacuated({ records }: HostContext, instance: Instance): Promise<boolean> {
  const moves = { instance_uuid: instance.get('uuid'), migration_type: 'evacuation' } as const;
  return (await records.migrations.find(moves)).some((migration) => !isFinal(migration.get('status')));
}
