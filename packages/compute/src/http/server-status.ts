import type { Instance } from '../objects/instance.js';
import type { TaskState, VmState } from '../objects/states.js';

type Tasks = readonly (readonly [NonNullable<TaskState>, string])[];

const REBOOTS: Tasks = [
  ['rebooting', 'REBOOT'],
  ['reboot_started', 'REBOOT'],
  ['rebooting_hard', 'HARD_REBOOT'],
  ['reboot_started_hard', 'HARD_REBOOT'],
];
const REBUILDS: Tasks = [
  ['rebuilding', 'REBUILD'],
  ['rebuild_block_device_mapping', 'REBUILD'],
  ['rebuild_spawning', 'REBUILD'],
];
const RESIZES: Tasks = [
  ['resize_prep', 'RESIZE'],
  ['resize_migrating', 'RESIZE'],
  ['resize_migrated', 'RESIZE'],
  ['resize_finish', 'RESIZE'],
];

/** Upstream's mapping: what an instance is called that nothing, or something else, is done to, and the tasks that count. */
const STATUSES: Readonly<Record<VmState, readonly [status: string, tasks: Tasks]>> = {
  active: [
    'ACTIVE',
    [...REBOOTS, ['updating_password', 'PASSWORD'], ...REBUILDS, ['migrating', 'MIGRATING'], ...RESIZES],
  ],
  building: ['BUILD', []],
  stopped: ['SHUTOFF', [...RESIZES, ...REBUILDS]],
  resized: ['VERIFY_RESIZE', [['resize_reverting', 'REVERT_RESIZE']]],
  paused: ['PAUSED', [['migrating', 'MIGRATING']]],
  suspended: ['SUSPENDED', []],
  rescued: ['RESCUE', []],
  error: ['ERROR', REBUILDS],
  deleted: ['DELETED', []],
  shelved: ['SHELVED', []],
  shelved_offloaded: ['SHELVED_OFFLOADED', []],
};

/** What users are told that an instance is: its state and what is done to it in one word. */
export function statusOf(instance: Instance): string {
  const [status, tasks] = STATUSES[instance.find('deleted') === true ? 'deleted' : instance.get('vm_state')];
  const task = instance.get('task_state');
  return tasks.find(([name]) => name === task)?.[1] ?? status;
}

/** The states of instances that are meant by statuses. */
export interface StatesOfStatus {
  readonly vms: ReadonlySet<VmState>;
  /** Undefined: whatever is done to them. */
  readonly tasks: ReadonlySet<TaskState> | undefined;
}

/** As upstream: a status that is that of a state takes in whatever is done to the instance. Undefined: there is none such. */
export function statesOf(statuses: readonly string[]): StatesOfStatus | undefined {
  const wanted = new Set(statuses.map((status) => status.toUpperCase()));
  const vms = new Set<VmState>();
  const tasks = new Set<TaskState>();
  let isPlain = false;
  for (const [vm, [status, its]] of Object.entries(STATUSES) as [VmState, (typeof STATUSES)[VmState]][]) {
    const fitting = its.filter(([, name]) => wanted.has(name));
    if (wanted.has(status)) isPlain = true;
    if (wanted.has(status) || fitting.length > 0) vms.add(vm);
    for (const [task] of fitting) tasks.add(task);
  }
  return vms.size === 0 ? undefined : { vms, tasks: isPlain ? undefined : tasks };
}
