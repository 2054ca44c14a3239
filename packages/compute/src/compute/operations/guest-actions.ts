import type { RequestContext } from '@ebbgate/core';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import type { InstanceAction } from '../../notifications/compute-event.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { VirtDriver } from '../../virt/driver.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, beginAction, beginWanted, endTask } from '../instance-action.js';

/** What a request can say of how it is to be done, besides to which instance. */
export interface GuestActionArgs {
  readonly instance: Instance;
  readonly rescue_image_ref?: string | null;
  readonly clean_shutdown?: boolean;
}

/** The methods of the table that are done here. */
export type GuestActionName =
  | 'pause_instance'
  | 'unpause_instance'
  | 'suspend_instance'
  | 'resume_instance'
  | 'rescue_instance'
  | 'unrescue_instance';

type Changes = Partial<InstanceFields>;

/** One row: what is written while it is done, what is done, and what the instance is then. */
interface GuestAction {
  /** What notifications call it. */
  readonly told: InstanceAction;
  readonly task: Exclude<TaskState, null>;
  readonly run: (
    virt: VirtDriver,
    wanted: Instance,
    args: GuestActionArgs,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly ends: () => Changes;
  /** After a failure; default: it stays what it was. */
  readonly failed?: Changes;
}

const RUNNING = { power_state: POWER_STATE.running } as const;
const ERROR = { vm_state: 'error' } as const;

/** As in Nova, failures included: only one to pause or go on leaves the instance as it was. */
const GUEST_ACTIONS: Readonly<Record<GuestActionName, GuestAction>> = {
  pause_instance: {
    told: 'pause',
    task: 'pausing',
    run: (virt, wanted, _args, signal) => virt.control.pause(wanted, { signal }),
    ends: () => ({ vm_state: 'paused', power_state: POWER_STATE.paused }),
  },
  unpause_instance: {
    told: 'unpause',
    task: 'unpausing',
    run: (virt, wanted, _args, signal) => virt.control.unpause(wanted, { signal }),
    ends: () => ({ vm_state: 'active', ...RUNNING }),
  },
  suspend_instance: {
    told: 'suspend',
    task: 'suspending',
    run: (virt, wanted, _args, signal) => virt.control.suspend(wanted, { signal }),
    ends: () => ({ vm_state: 'suspended', power_state: POWER_STATE.shutdown }),
    failed: ERROR,
  },
  resume_instance: {
    told: 'resume',
    task: 'resuming',
    run: (virt, wanted, _args, signal) => virt.control.resume(wanted, { signal }),
    ends: () => ({ vm_state: 'active', ...RUNNING }),
    failed: ERROR,
  },
  rescue_instance: {
    told: 'rescue',
    task: 'rescuing',
    run: (virt, wanted, args, signal) =>
      virt.control.rescue(wanted, {
        imageId: args.rescue_image_ref ?? null,
        clean: args.clean_shutdown ?? true,
        signal,
      }),
    ends: () => ({ vm_state: 'rescued', launched_at: new Date(), ...RUNNING }),
    failed: ERROR,
  },
  unrescue_instance: {
    told: 'unrescue',
    task: 'unrescuing',
    run: (virt, wanted, _args, signal) => virt.control.unrescue(wanted, { signal }),
    ends: () => ({ vm_state: 'active', ...RUNNING }),
    failed: ERROR,
  },
};

/**
 * Begins one of the actions of the table: a task from now on. What is not asked for any more when its turn comes is left
 * alone.
 */
export function beginGuestAction(
  host: HostContext,
  context: RequestContext,
  name: GuestActionName,
  args: GuestActionArgs,
): void {
  const { told: action, task, run, ends, failed } = GUEST_ACTIONS[name];
  const uuid = args.instance.get('uuid');
  const expected = { task_state: [task], host: [host.host] };
  beginAction(host, context, name, uuid, async (signal) => {
    const wanted = await beginWanted(host, uuid, expected);
    const event = { context, action, rescueImage: args.rescue_image_ref ?? null };
    host.emit({ ...event, phase: 'start', instance: wanted });
    try {
      await run(host.virt, wanted, args, signal);
      const instance = await host.records.instances.update(uuid, { ...ends(), task_state: null }, expected);
      host.emit({ ...event, phase: 'end', instance });
    } catch (error) {
      await afterFailure(host, uuid, [task], error, failed);
      throw error;
    }
  });
}

/** The action that a task is of; for one that was cut off and is done again. */
export const GUEST_ACTION_OF: ReadonlyMap<TaskState, GuestActionName> = new Map(
  Object.entries(GUEST_ACTIONS).map(([name, { task }]) => [task, name as GuestActionName]), // its own keys
);

/**
 * Gives the administrator of a guest another password; resolves when that is done. A failure tells nothing of it, and
 * leaves the instance as it was.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`); HypervisorError (`ERR_HYPERVISOR`)
 */
export async function setAdminPassword(
  host: HostContext,
  { instance, new_pass: password }: { readonly instance: Instance; readonly new_pass: string | null },
): Promise<void> {
  const uuid = instance.get('uuid');
  const task = ['updating_password'] as const;
  await host.locks.run(uuid, async () => {
    const wanted = await beginWanted(host, uuid, { task_state: task, host: [host.host] });
    try {
      await host.virt.control.setAdminPassword(wanted, password ?? '');
    } catch (error) {
      await afterFailure(host, uuid, task, error);
      throw error;
    }
    await endTask(host, uuid, task);
  });
}
