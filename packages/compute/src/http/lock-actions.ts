import type { Instance, InstanceFields } from '../objects/instance.js';
import { LOCK_BODIES } from './action-schemas.js';
import type { HttpParts } from './app.js';
import type { Asked, ServerActions } from './server-actions.js';
import { projectOf } from './server-directory.js';

type LockBody = { readonly locked_reason?: string | undefined } | null;

const POLICY = 'os_compute_api:os-lock-server';

/** Locks: only administrators may do something to a server that is locked. */
export function registerLockActions(actions: ServerActions, { policy }: HttpParts): void {
  actions.add<LockBody>({
    action: 'lock',
    summary: 'Locks it; from 2.73 with a reason',
    policy: `${POLICY}:lock`,
    body: LOCK_BODIES,
    alsoLocked: true,
    ask: async (asked) => {
      if (asked.instance.find('locked') === true && holder(asked) === 'owner') return; // whoever has locked it
      const lock = { locked: true, locked_by: holder(asked) };
      tell(asked, 'lock', await write(asked, lock, asked.body?.locked_reason));
    },
  });
  actions.add({
    action: 'unlock',
    summary: 'Unlocks it; what an administrator has locked only with the right to override that',
    policy: `${POLICY}:unlock`,
    alsoLocked: true,
    ask: async (asked) => {
      const by = asked.instance.find('locked_by') ?? null;
      if (by !== null && by !== holder(asked))
        policy.enforce(`${POLICY}:unlock:unlock_override`, asked.input.caller);
      tell(asked, 'unlock', await write(asked, { locked: false, locked_by: null }, undefined));
    },
  });
}

function holder({ input, instance }: Pick<Asked<unknown>, 'input' | 'instance'>): 'owner' | 'admin' {
  return projectOf(input) === instance.find('project_id') ? 'owner' : 'admin';
}

function tell({ api, input }: Asked<unknown>, action: 'lock' | 'unlock', instance: Instance): void {
  api.parts.emitAsked?.({ context: input.context, action, instance });
}

/** The reason is among Nova's own notes: those are written only where they change, and only while no host writes them. */
async function write(
  { api, uuid, instance }: Pick<Asked<unknown>, 'api' | 'uuid' | 'instance'>,
  lock: Pick<InstanceFields, 'locked' | 'locked_by'>,
  reason: string | undefined,
): Promise<Instance> {
  const { instances } = api.parts.records;
  const { locked_reason: before, ...others } = instance.find('system_metadata') ?? {};
  if (before === reason) return instances.update(uuid, lock);
  const notes = { ...others, ...(reason !== undefined && { locked_reason: reason }) };
  return instances.update(uuid, { ...lock, system_metadata: notes }, { task_state: [null] });
}
