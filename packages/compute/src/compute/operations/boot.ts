import type { RequestContext } from '@ebbgate/core';
import { ExternalEventError, OperationAbortedError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { mayRetry } from '../../scheduler/build-attempts.js';
import { beginInBackground } from '../background.js';
import type { HostContext } from '../host-context.js';
import { onceAnswered, UnsettledWriteError, writeSurely } from '../sure-write.js';
import type { WorkPool } from '../work-pool.js';
import { releaseUnused } from './abandon-resize.js';

/** What is being done to an instance while it is built here. */
const BUILD_TASKS: readonly TaskState[] = [null, 'networking', 'block_device_mapping', 'spawning'];

type BuildArgs = ArgsOf<ComputeMethods['build_and_run_instance']>;

/**
 * Builds instances on this host (`compute-rpc.md` 3.7): building/scheduling → building/none → networking →
 * block_device_mapping → spawning → active/none. A build that fails leaves nothing on the host, and goes back to the
 * conductor for the next host of its list, or ends in ERROR.
 */
export class Boot {
  readonly #host: HostContext;
  readonly #pool: WorkPool;

  constructor(host: HostContext, pool: WorkPool) {
    this.#host = host;
    this.#pool = pool;
  }

  /** Takes a build up. It counts as running from now on, also while it waits for its turn. */
  begin(context: RequestContext, args: BuildArgs): void {
    const uuid = args.instance.get('uuid');
    // A delete ends the build, through the signal, and runs when it has ended.
    beginInBackground(this.#host, context, { name: 'build_instance', instance: uuid }, () =>
      this.#host.locks.run(uuid, (signal) =>
        this.#pool.run(() => this.#build(context.detached(), args, signal), signal),
      ),
    );
  }

  async #build(context: RequestContext, args: BuildArgs, signal: AbortSignal): Promise<void> {
    const uuid = args.instance.get('uuid');
    const begun = await this.#takeUp(uuid);
    this.#host.emit({ context, action: 'create', phase: 'start', instance: begun });
    let isMade = false;
    try {
      await this.#make(uuid, signal);
      isMade = true;
      const instance = await this.#recordActive(uuid);
      this.#host.emit({ context, action: 'create', phase: 'end', instance });
    } catch (error) {
      // It may be active, with the guest that is here.
      const isUnknown = isMade && error instanceof UnsettledWriteError;
      if (!isUnknown) this.#host.emit({ context, action: 'create', phase: 'error', instance: begun, error });
      if (!isUnknown && !this.#host.lifetime.aborted) await this.#fail(context, args, uuid, error);
      throw error;
    }
  }

  /** Fails when somebody else has begun with it, or it is not to be built any more: then it is not ours to touch. */
  async #takeUp(uuid: string): Promise<Instance> {
    const { host, records, lifetime } = this.#host;
    const here = { host, node: host, launched_on: host, task_state: null };
    const expected = { vm_state: ['building'], task_state: ['scheduling'] } as const;
    try {
      return await writeSurely(this.#host, {
        write: () => records.instances.update(uuid, here, expected),
        read: () => records.instances.get(uuid),
        isWritten: (one) =>
          one.get('host') === host && one.get('vm_state') === 'building' && one.get('task_state') === null,
      });
    } catch (error) {
      if (error instanceof UnexpectedStateError) await releaseUnused(this.#host, uuid);
      // Nothing has been made here, and a guest that is here is another message's: only the record may be ours.
      if (error instanceof UnsettledWriteError && !lifetime.aborted) {
        await this.#attempt(uuid, () => this.#giveUp(uuid, error));
      }
      throw error;
    }
  }

  async #giveUp(uuid: string, error: unknown): Promise<void> {
    const { host, records } = this.#host;
    const untouched = {
      vm_state: ['building'],
      task_state: ['scheduling', null],
      host: [host, null],
    } as const;
    const failed = { vm_state: 'error', task_state: null, fault: faultOf(error, host) } as const;
    await records.instances.update(uuid, failed, untouched);
    await records.allocations.release(uuid, host);
  }

  async #make(uuid: string, signal: AbortSignal): Promise<void> {
    const { host, networking, events, virt, vifPluggingTimeoutMs } = this.#host;
    await this.#step(uuid, null, 'networking');
    const ports = await networking.allocate(uuid);
    await this.#step(uuid, 'networking', 'block_device_mapping');
    const instance = await this.#step(uuid, 'block_device_mapping', 'spawning');
    // Announced before the interfaces are plugged, so that the event cannot come too early.
    const plugged = events.expect(uuid, 'network-vif-plugged', ports);
    try {
      const beforeStart = (): Promise<void> => plugged.wait({ timeoutMs: vifPluggingTimeoutMs, signal });
      await virt.spawn(instance, { signal, beforeStart });
    } finally {
      plugged.cancel();
    }
    await networking.activateBinding(uuid, host);
  }

  /**
   * The guest runs, and the record is to say so. Whether it does may remain unknown: then the guest stays, and the next
   * start sees to it.
   */
  async #recordActive(uuid: string): Promise<Instance> {
    const { host, records } = this.#host;
    const active: Partial<InstanceFields> = {
      vm_state: 'active',
      task_state: null,
      power_state: POWER_STATE.running,
      launched_at: new Date(),
    };
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, active, { task_state: ['spawning'] }),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('vm_state') === 'active',
    });
  }

  #step(uuid: string, from: TaskState, to: TaskState): Promise<Instance> {
    const expected = { vm_state: ['building'], task_state: [from] } as const;
    return this.#host.records.instances.update(uuid, { task_state: to }, expected);
  }

  /** Leaves nothing here, then hands the instance on, or says that it has failed. */
  async #fail(context: RequestContext, args: BuildArgs, uuid: string, error: unknown): Promise<void> {
    const { host, records, virt, networking, logger } = this.#host;
    await this.#attempt(uuid, () => virt.destroy(uuid));
    await this.#attempt(uuid, () => networking.deallocate(uuid));
    await this.#attempt(uuid, () => records.allocations.release(uuid, host));
    if (isWorthRetrying(error) && mayRetry(args.filter_properties)) {
      try {
        await this.#handOn(context, args, uuid);
        return;
      } catch (failure) {
        logger.error({ err: failure, instance: uuid }, 'A failed build could not be handed on');
      }
    }
    // Not when a delete has cancelled it: that one goes on with the instance.
    await this.#attempt(uuid, () =>
      records.instances.update(
        uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(error, host) },
        { vm_state: ['building'], task_state: BUILD_TASKS, host: [host] },
      ),
    );
  }

  /**
   * Another host is to try. The conductor that takes it writes that the instance is not here any more: sent twice it is taken
   * once, and one that was not sent is still this host's at its next start.
   */
  async #handOn(context: RequestContext, args: BuildArgs, uuid: string): Promise<void> {
    const { host, records, conductorApi } = this.#host;
    const ours = { vm_state: ['building'], task_state: BUILD_TASKS, host: [host] } as const;
    const instance = await records.instances.update(uuid, { progress: 0 }, ours);
    const send = (): Promise<void> =>
      conductorApi.cast(context, 'build_instances', {
        instances: [instance],
        image: args.image,
        filter_properties: args.filter_properties,
        admin_password: args.admin_password,
        injected_files: args.injected_files,
        requested_networks: args.requested_networks,
        security_groups: args.security_groups,
        block_device_mapping: args.block_device_mapping,
        legacy_bdm: false,
        request_spec: args.request_spec,
        host_lists: args.host_list === null ? null : [args.host_list],
      });
    await onceAnswered(this.#host, send);
  }

  /** One step of several that must all be tried. */
  async #attempt(uuid: string, step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#host.logger.error(
        { err: error, instance: uuid },
        'A step of cleaning up after a failed build failed',
      );
    }
  }
}

/** Would it go better elsewhere? Not when the network does not answer, nor when somebody else wants it otherwise. */
function isWorthRetrying(error: unknown): boolean {
  return ![ExternalEventError, OperationAbortedError, UnexpectedStateError].some(
    (type) => error instanceof type,
  );
}
