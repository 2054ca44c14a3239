import type { RequestContext } from '@ebbgate/core';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { shelvedImage, withoutShelved } from '../../objects/shelved-notes.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, beginAction, beginWanted } from '../instance-action.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;

/** Starts, stops and reboots guests. What is not asked for any more when its turn comes is left alone. */
export class Power {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** stopped/powering-on → active/none, or shelved/powering-on while it has not left. A failure leaves it as it was. */
  start(context: RequestContext, { instance }: Args<'start_instance'>): void {
    const uuid = instance.get('uuid');
    beginAction(this.#host, context, 'start_instance', uuid, async (signal) => {
      await this.#during(uuid, 'powering-on', async (wanted) => {
        this.#host.emit({ context, action: 'power_on', phase: 'start', instance: wanted });
        await this.#host.virt.powerOn(wanted, { signal });
        const on = await this.#end(uuid, 'powering-on', true, { system_metadata: withoutShelved(wanted) });
        this.#host.emit({ context, action: 'power_on', phase: 'end', instance: on });
        const image = shelvedImage(wanted) ?? null;
        if (image !== null) await this.#host.virt.snapshotMoves.removeImage(image);
      });
    });
  }

  /** active/powering-off → stopped/none. A failure leaves it active. */
  stop(context: RequestContext, args: Args<'stop_instance'>): void {
    const uuid = args.instance.get('uuid');
    beginAction(this.#host, context, 'stop_instance', uuid, async (signal) => {
      await this.#during(uuid, 'powering-off', async (wanted) => {
        this.#host.emit({ context, action: 'power_off', phase: 'start', instance: wanted });
        await this.#host.virt.powerOff(wanted, { clean: args.clean_shutdown, signal });
        const off = await this.#end(uuid, 'powering-off', false);
        this.#host.emit({ context, action: 'power_off', phase: 'end', instance: off });
      });
    });
  }

  /**
   * rebooting → reboot_started → active/none, or the same with `_hard`. A guest that runs all the same after a failure
   * keeps its instance active; one that does not leaves it in ERROR. A hard reboot ends a soft one that is under way.
   */
  reboot(context: RequestContext, args: Args<'reboot_instance'>): void {
    const uuid = args.instance.get('uuid');
    const how = args.reboot_type.toUpperCase() === 'HARD' ? 'hard' : 'soft';
    const [asked, started] = how === 'hard' ? HARD : SOFT;
    beginAction(this.#host, context, 'reboot_instance', uuid, async (signal) => {
      const { records, host, emit } = this.#host;
      const expected = { task_state: [asked], host: [host] };
      const wanted = await records.instances.update(uuid, { task_state: started }, expected);
      emit({ context, action: 'reboot', phase: 'start', instance: wanted });
      await this.#reboot(context, wanted, how, started, signal);
    });
  }

  /** A reboot that failed and has left the guest running has ended all the same, as upstream tells it. */
  async #reboot(
    context: RequestContext,
    wanted: Instance,
    how: 'soft' | 'hard',
    started: TaskState,
    signal: AbortSignal,
  ): Promise<void> {
    const { virt, emit } = this.#host;
    const uuid = wanted.get('uuid');
    try {
      await virt.reboot(wanted, how, { signal });
      const rebooted = await this.#end(uuid, started, true);
      emit({ context, action: 'reboot', phase: 'end', instance: rebooted });
    } catch (error) {
      const runs = (await virt.guestState(uuid)) === 'running';
      const instance = await afterFailure(
        this.#host,
        uuid,
        [started],
        error,
        runs ? {} : { vm_state: 'error' },
      );
      if (runs) {
        emit({ context, action: 'reboot', phase: 'error', instance: wanted, error });
        emit({ context, action: 'reboot', phase: 'end', instance: instance ?? wanted });
      }
      throw error;
    }
  }

  async #during(uuid: string, task: TaskState, work: (wanted: Instance) => Promise<void>): Promise<void> {
    const expected = { task_state: [task], host: [this.#host.host] };
    const wanted = await beginWanted(this.#host, uuid, expected);
    try {
      await work(wanted);
    } catch (error) {
      await afterFailure(this.#host, uuid, [task], error);
      throw error;
    }
  }

  async #end(
    uuid: string,
    task: TaskState,
    runs: boolean,
    besides: Partial<InstanceFields> = {},
  ): Promise<Instance> {
    const state = runs
      ? ({ vm_state: 'active', power_state: POWER_STATE.running } as const)
      : ({ vm_state: 'stopped', power_state: POWER_STATE.shutdown } as const);
    const { records, host } = this.#host;
    return records.instances.update(
      uuid,
      { ...state, ...besides, task_state: null },
      { task_state: [task], host: [host] },
    );
  }
}

const SOFT = ['rebooting', 'reboot_started'] as const;
const HARD = ['rebooting_hard', 'reboot_started_hard'] as const;
