import type { RequestContext } from '@ebbgate/core';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { beginInBackground } from '../background.js';
import type { HostContext } from '../host-context.js';
import type { WorkPool } from '../work-pool.js';

type BuildArgs = ArgsOf<ComputeMethods['build_and_run_instance']>;

/**
 * Builds instances on this host (`compute-rpc.md` 3.7): building/scheduling → building/none → networking →
 * block_device_mapping → spawning → active/none. A build that fails leaves the instance in ERROR and nothing on the host.
 */
export class Boot {
  readonly #host: HostContext;
  readonly #pool: WorkPool;

  constructor(host: HostContext, pool: WorkPool) {
    this.#host = host;
    this.#pool = pool;
  }

  /** Takes a build up. It counts as running from now on, also while it waits for its turn. */
  begin(context: RequestContext, { instance }: BuildArgs): void {
    const uuid = instance.get('uuid');
    beginInBackground(this.#host, context, { name: 'build_instance', instance: uuid }, () =>
      this.#pool.run(() => this.#build(uuid), this.#host.lifetime),
    );
  }

  async #build(uuid: string): Promise<void> {
    const { host, records } = this.#host;
    // Fails when somebody else has begun with it, or it is not to be built any more: then it is not ours to touch.
    await records.instances.update(
      uuid,
      { host, node: host, launched_on: host, task_state: null },
      { vm_state: ['building'], task_state: ['scheduling'] },
    );
    try {
      await this.#make(uuid);
    } catch (error) {
      if (!this.#host.lifetime.aborted) await this.#cleanUp(uuid);
      throw error;
    }
  }

  async #make(uuid: string): Promise<void> {
    const { host, networking, events, virt, lifetime, vifPluggingTimeoutMs } = this.#host;
    await this.#step(uuid, null, 'networking');
    const ports = await networking.allocate(uuid);
    await this.#step(uuid, 'networking', 'block_device_mapping');
    const instance = await this.#step(uuid, 'block_device_mapping', 'spawning');
    // Announced before the interfaces are plugged, so that the event cannot come too early.
    const plugged = events.expect(uuid, 'network-vif-plugged', ports);
    try {
      const beforeStart = (): Promise<void> =>
        plugged.wait({ timeoutMs: vifPluggingTimeoutMs, signal: lifetime });
      await virt.spawn(instance, { signal: lifetime, beforeStart });
    } finally {
      plugged.cancel();
    }
    await networking.activateBinding(uuid, host);
    const active: Partial<InstanceFields> = {
      vm_state: 'active',
      task_state: null,
      power_state: POWER_STATE.running,
      launched_at: new Date(),
    };
    await this.#host.records.instances.update(uuid, active, { task_state: ['spawning'] });
  }

  #step(uuid: string, from: TaskState, to: TaskState): Promise<Instance> {
    const expected = { vm_state: ['building'], task_state: [from] } as const;
    return this.#host.records.instances.update(uuid, { task_state: to }, expected);
  }

  async #cleanUp(uuid: string): Promise<void> {
    const { records, virt, networking, logger } = this.#host;
    const steps = [
      () => virt.destroy(uuid),
      () => networking.deallocate(uuid),
      () =>
        records.instances.update(uuid, { vm_state: 'error', task_state: null }, { vm_state: ['building'] }),
    ];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        logger.error({ err: error, instance: uuid }, 'A step of cleaning up after a failed build failed');
      }
    }
  }
}
