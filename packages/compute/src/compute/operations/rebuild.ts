import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../../objects/instance.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, beginAction, beginWanted } from '../instance-action.js';
import { startWhenPlugged } from '../plugged-start.js';
import { writeSurely } from '../sure-write.js';

/** The arguments of `rebuild_instance`, which evacuations use too. */
export type RebuildArgs = ArgsOf<ComputeMethods['rebuild_instance']>;

/** What is being done to an instance while it is rebuilt, in this order. */
export const REBUILD_TASKS: readonly TaskState[] = [
  'rebuilding',
  'rebuild_block_device_mapping',
  'rebuild_spawning',
];

/**
 * Makes an instance anew where it is (`compute-rpc.md` 3.6): rebuilding → rebuild_block_device_mapping →
 * rebuild_spawning → active/none, or stopped when it was. A failure leaves it in ERROR.
 */
export class Rebuild {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  begin(context: RequestContext, args: RebuildArgs): void {
    const { host } = this.#host;
    const uuid = args.instance.get('uuid');
    beginAction(this.#host, context, 'rebuild_instance', uuid, async (signal) => {
      // It may have waited in a queue for long: fails when the instance is not to be rebuilt, or not here, any more.
      const expected = { task_state: ['rebuilding'], host: [host] } as const;
      const wanted = await beginWanted(this.#host, uuid, expected);
      const { emit } = this.#host;
      emit({ context, action: 'rebuild', phase: 'start', instance: wanted });
      try {
        await this.#removeOld(wanted, signal);
        await this.spawn(uuid, signal);
        const rebuilt = await this.finish(context, uuid, {}, endState(wanted, args));
        emit({ context, action: 'rebuild', phase: 'end', instance: rebuilt });
      } catch (error) {
        emit({ context, action: 'rebuild', phase: 'error', instance: wanted, error });
        await afterFailure(this.#host, uuid, REBUILD_TASKS, error, { vm_state: 'error' });
        throw error;
      }
    });
  }

  async #removeOld(instance: Instance, signal: AbortSignal): Promise<void> {
    const { virt } = this.#host;
    const uuid = instance.get('uuid');
    if ((await virt.guestState(uuid)) === 'running') await virt.powerOff(instance, { clean: true, signal });
    await virt.destroy(uuid);
  }

  /** Makes the guest here, and binds its ports here. */
  async spawn(uuid: string, signal: AbortSignal): Promise<void> {
    const { host, networking, virt } = this.#host;
    await this.#step(uuid, 'rebuilding', 'rebuild_block_device_mapping');
    const instance = await this.#step(uuid, 'rebuild_block_device_mapping', 'rebuild_spawning');
    await startWhenPlugged(
      this.#host,
      uuid,
      (beforeStart) => virt.spawn(instance, { signal, beforeStart }),
      signal,
    );
    await networking.activateBinding(uuid, host);
  }

  /**
   * The guest runs here; one that shall be stopped is stopped again, as in Nova. Resolves with the instance.
   * @param place - where the instance is from now on, when that has changed
   */
  async finish(
    context: RequestContext,
    uuid: string,
    place: { readonly host?: string; readonly node?: string },
    end: 'active' | 'stopped',
  ): Promise<Instance> {
    const { records, host } = this.#host;
    const changes = {
      ...place,
      vm_state: 'active',
      task_state: end === 'stopped' ? 'powering-off' : null,
      power_state: POWER_STATE.running,
      launched_at: new Date(),
      progress: 0,
    } as const;
    const active = await writeSurely(this.#host, {
      write: () => records.instances.update(uuid, changes, { task_state: ['rebuild_spawning'] }),
      read: () => records.instances.get(uuid),
      // Somebody may have gone on with it since: it is here, and no rebuild is under way any more.
      isWritten: (one) =>
        one.get('host') === host &&
        one.get('vm_state') === 'active' &&
        !REBUILD_TASKS.includes(one.get('task_state')),
    });
    return end === 'active' ? active : this.#stopAgain(context, active);
  }

  async #stopAgain(context: RequestContext, active: Instance): Promise<Instance> {
    const { records, virt, emit } = this.#host;
    const uuid = active.get('uuid');
    emit({ context, action: 'power_off', phase: 'start', instance: active });
    try {
      await virt.powerOff(active, { clean: true, signal: this.#host.lifetime });
      const off = { vm_state: 'stopped', task_state: null, power_state: POWER_STATE.shutdown } as const;
      const stopped = await records.instances.update(uuid, off, { task_state: ['powering-off'] });
      emit({ context, action: 'power_off', phase: 'end', instance: stopped });
      return stopped;
    } catch (error) {
      // It is rebuilt all the same, and runs.
      this.#host.logger.error({ err: error, instance: uuid }, 'A rebuilt instance could not be stopped');
      return (await afterFailure(this.#host, uuid, ['powering-off'], error)) ?? active;
    }
  }

  #step(uuid: string, from: TaskState, to: TaskState): Promise<Instance> {
    return this.#host.records.instances.update(uuid, { task_state: to }, { task_state: [from] });
  }
}

/** An instance that was stopped is stopped again; newer callers may also ask for it. */
export function endState(instance: Instance, args: RebuildArgs): 'active' | 'stopped' {
  return instance.get('vm_state') === 'stopped' || args.target_state === 'stopped' ? 'stopped' : 'active';
}
