import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../../objects/instance.js';
import {
  shelvedAtMs,
  shelvedImage,
  withoutShelved,
  withShelved,
  withShelvedImage,
} from '../../objects/shelved-notes.js';
import { POWER_STATE, type TaskState } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { EarlyEnd } from '../early-end.js';
import type { HostContext } from '../host-context.js';
import { afterFailure, beginAction, beginWanted } from '../instance-action.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;
type How = Pick<Args<'shelve_instance'>, 'image_id' | 'clean_shutdown'>;

/** What is being done to an instance until it is shelved, in this order. */
const SHELVING: readonly TaskState[] = [
  'shelving',
  'shelving_image_pending_upload',
  'shelving_image_uploading',
];
/** One that boots from a volume leaves without having become an image. */
const LEAVING: readonly TaskState[] = ['shelving_offloading', 'shelving'];

/**
 * Shelves instances: the guest ends and its disk becomes an image (shelving → shelving_image_pending_upload →
 * shelving_image_uploading → shelved/none), and it leaves its host (shelving_offloading → shelved_offloaded/none) at once,
 * some time later, or when that is asked for.
 */
export class Shelve {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** A failure leaves the instance as it was, or stopped when its guest has ended. */
  begin(context: RequestContext, { instance, ...how }: How & { readonly instance: Instance }): void {
    this.#begin(context, instance.get('uuid'), ['shelving'], how);
  }

  /** One that was cut off is done again. Without a note it was not begun: its request can still be in the queue. */
  resume(context: RequestContext, instance: Instance): void {
    const image = shelvedImage(instance);
    if (image === undefined) return;
    this.#begin(context, instance.get('uuid'), SHELVING, { image_id: image, clean_shutdown: false });
  }

  #begin(context: RequestContext, uuid: string, from: readonly TaskState[], how: How): void {
    const { records, virt, host } = this.#host;
    const expected = { task_state: from, host: [host] };
    beginAction(this.#host, context, 'shelve_instance', uuid, async (signal) => {
      const before = await beginWanted(this.#host, uuid, expected);
      this.#host.emit({ context, action: 'shelve', phase: 'start', instance: before });
      let isOff = false;
      try {
        const noted = withShelvedImage(before, how.image_id);
        const noting = { task_state: 'shelving', system_metadata: noted } as const;
        const wanted = await records.instances.update(uuid, noting, expected);
        const clean = how.clean_shutdown && wanted.get('vm_state') !== 'paused';
        await virt.powerOff(wanted, { clean, signal });
        isOff = true;
        if (how.image_id !== null) await this.#makeImage(wanted, how.image_id, signal);
        const shelved = await this.#recordShelved(wanted);
        this.#host.emit({ context, action: 'shelve', phase: 'end', instance: shelved });
      } catch (error) {
        const off = { vm_state: 'stopped', power_state: POWER_STATE.shutdown } as const;
        const notes = { system_metadata: withoutShelved(before) };
        await afterFailure(this.#host, uuid, SHELVING, error, { ...notes, ...(isOff && off) });
        throw error;
      }
      if (this.#host.shelvedOffloadMs === 0) await this.#offload(context, before, { clean: false, signal });
    });
  }

  async #makeImage(wanted: Instance, image: string, signal: AbortSignal): Promise<void> {
    const { records, virt, host } = this.#host;
    const step = (from: TaskState, to: TaskState): Promise<Instance> =>
      records.instances.update(wanted.get('uuid'), { task_state: to }, { task_state: [from], host: [host] });
    await step('shelving', 'shelving_image_pending_upload');
    const onUpload = (): Promise<Instance> =>
      step('shelving_image_pending_upload', 'shelving_image_uploading');
    await virt.snapshot(wanted, image, { signal, onUpload });
  }

  async #recordShelved(wanted: Instance): Promise<Instance> {
    const { records, host } = this.#host;
    const shelved = {
      vm_state: 'shelved',
      task_state: this.#host.shelvedOffloadMs === 0 ? 'shelving_offloading' : null,
      power_state: POWER_STATE.shutdown,
      system_metadata: withShelved(wanted, host),
    } as const;
    return records.instances.update(wanted.get('uuid'), shelved, { task_state: SHELVING, host: [host] });
  }

  /**
   * A failure leaves the instance shelved here, and so does a drain that aborts it before its guest is removed. Done twice it
   * does nothing more.
   */
  beginOffload(
    context: RequestContext,
    { instance, clean_shutdown: clean }: Pick<Args<'shelve_offload_instance'>, 'instance' | 'clean_shutdown'>,
  ): void {
    const uuid = instance.get('uuid');
    const early = new EarlyEnd();
    const work = async (signal: AbortSignal): Promise<void> => {
      const expected = { task_state: LEAVING, host: [this.#host.host] };
      const wanted = await beginWanted(this.#host, uuid, expected);
      await this.#offload(context, wanted, { clean, signal, early });
    };
    // One that boots from a volume is not shelved yet: there would be nothing to leave it as.
    const isShelved = instance.get('vm_state') === 'shelved';
    const abortable = isShelved ? { early, pending: LEAVING } : undefined;
    beginAction(this.#host, context, 'shelve_offload_instance', uuid, work, abortable);
  }

  async #offload(
    context: RequestContext,
    instance: Instance,
    {
      clean,
      signal,
      early,
    }: { readonly clean: boolean; readonly signal: AbortSignal; readonly early?: EarlyEnd },
  ): Promise<void> {
    const { records, virt, host, emit } = this.#host;
    const uuid = instance.get('uuid');
    emit({ context, action: 'shelve_offload', phase: 'start', instance });
    try {
      if ((await virt.guestState(uuid)) === 'running') await virt.powerOff(instance, { clean, signal });
      early?.signal.throwIfAborted();
      early?.pass();
      await virt.destroy(uuid);
      await records.allocations.release(uuid, host);
      const nowhere = { host: null, node: null, power_state: POWER_STATE.shutdown } as const;
      const offloaded = await records.instances.update(
        uuid,
        { vm_state: 'shelved_offloaded', task_state: null, ...nowhere },
        { task_state: LEAVING, host: [host] },
      );
      emit({ context, action: 'shelve_offload', phase: 'end', instance: offloaded });
    } catch (error) {
      await afterFailure(this.#host, uuid, LEAVING, error);
      throw error;
    }
  }

  /** Those that have been shelved here for long enough leave. */
  async offloadDue(context: RequestContext): Promise<void> {
    const { records, host, shelvedOffloadMs } = this.#host;
    const shelved = { vm_state: ['shelved'], task_state: [null], host: [host] } as const;
    const dueMs = Date.now() - (shelvedOffloadMs ?? Infinity);
    for (const one of await records.instances.find({ host, vm_state: 'shelved', task_state: null })) {
      if ((shelvedAtMs(one) ?? Infinity) > dueMs) continue;
      const leaving = { task_state: 'shelving_offloading' } as const;
      const instance = await records.instances.update(one.get('uuid'), leaving, shelved);
      this.beginOffload(context, { instance, clean_shutdown: true });
    }
  }
}
