import type { RequestContext } from '@ebbgate/core';
import { ResourcesUnavailableError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { withoutShelved } from '../../objects/shelved-notes.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { resourcesOf } from '../../scheduler/flavor-resources.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';
import { startWhenPlugged } from '../plugged-start.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';

/**
 * Makes the guest of an instance again that has left its host when it was shelved: unshelving → spawning → active/none. A
 * failure leaves nothing of it here, and the instance as it was.
 */
export class Unshelve {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  begin(context: RequestContext, args: ArgsOf<ComputeMethods['unshelve_instance']>): void {
    const uuid = args.instance.get('uuid');
    beginAction(this.#host, context, 'unshelve_instance', uuid, (signal) =>
      this.#run(context, uuid, imageIn(args.image), signal),
    );
  }

  async #run(
    context: RequestContext,
    uuid: string,
    image: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = await this.#takeUp(uuid);
    this.#host.emit({ context, action: 'unshelve', phase: 'start', instance: wanted });
    try {
      await this.#makeGuest(wanted, image, signal);
      const instance = await this.#recordActive(wanted);
      this.#host.emit({ context, action: 'unshelve', phase: 'end', instance });
    } catch (error) {
      // It may be active, with the guest that is here.
      if (!(error instanceof UnsettledWriteError)) await this.takeBack(uuid, error);
      throw error;
    }
    if (image !== null) await this.#host.virt.snapshotMoves.removeImage(image);
  }

  /** A message that comes late, or twice, finds another state: then there is nothing to do, and nothing to undo. */
  async #takeUp(uuid: string): Promise<Instance> {
    const { records, host } = this.#host;
    const here = { task_state: 'spawning', host, node: host } as const;
    const expected = {
      vm_state: ['shelved_offloaded'],
      task_state: ['unshelving'],
      host: [null],
    } as const;
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, here, expected),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('task_state') === 'spawning',
    });
  }

  async #makeGuest(wanted: Instance, image: string | null, signal: AbortSignal): Promise<void> {
    const { records, networking, virt, host } = this.#host;
    const uuid = wanted.get('uuid');
    const resources = resourcesOf(wanted.get('flavor'), { bootsFromVolume: image === null });
    if (!(await records.allocations.claim(uuid, host, resources))) {
      throw new ResourcesUnavailableError(`${host} has no room for instance ${uuid}`);
    }
    await startWhenPlugged(
      this.#host,
      uuid,
      (beforeStart) =>
        virt.snapshotMoves.spawnFromImage(wanted, image, { powerOn: true, beforeStart, signal }),
      signal,
    );
    await networking.activateBinding(uuid, host);
  }

  async #recordActive(wanted: Instance): Promise<Instance> {
    const { records, host } = this.#host;
    const uuid = wanted.get('uuid');
    const active = {
      vm_state: 'active',
      task_state: null,
      power_state: POWER_STATE.running,
      launched_at: new Date(),
      system_metadata: withoutShelved(wanted),
    } as const;
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, active, { task_state: ['spawning'], host: [host] }),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('vm_state') === 'active',
    });
  }

  /** Nothing of it stays here; also after one that was cut off. A process that is gone leaves it to the next start. */
  async takeBack(uuid: string, error: unknown): Promise<void> {
    const { records, virt, host, logger, lifetime } = this.#host;
    if (lifetime.aborted) return;
    const attempts = new Attempts(logger, { instance: uuid });
    await attempts.make('removing the guest', () => virt.destroy(uuid));
    await attempts.make('giving the allocation back', () => records.allocations.release(uuid, host));
    await attempts.make('resetting the instance', () =>
      records.instances.update(
        uuid,
        { task_state: null, host: null, node: null, fault: faultOf(error, host) },
        { vm_state: ['shelved_offloaded'], task_state: ['spawning'], host: [host] },
      ),
    );
  }
}

/** Nova sends what the image service says of it. */
function imageIn(image: unknown): string | null {
  if (typeof image !== 'object' || image === null) return null;
  const id = new Map<string, unknown>(Object.entries(image)).get('id');
  return typeof id === 'string' ? id : null;
}
