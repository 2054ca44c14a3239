import { randomUUID } from 'node:crypto';
import type { CallerContext } from '@ebbgate/rpc';
import { checkExpected } from '../db/expected.js';
import type { Instance } from '../objects/instance.js';
import type { TaskState, VmState } from '../objects/states.js';
import { type ActionParts, liveHostOf } from './action-parts.js';
import { askHost } from './ask-host.js';
import { giveVolume } from './give-volume.js';
import { sendOrTakeBack } from './take-back.js';

/** What can be asked for by name alone. */
export type PlainControl = 'pause' | 'unpause' | 'suspend' | 'resume' | 'unrescue';

interface ControlRow {
  readonly task: TaskState;
  readonly from: readonly VmState[];
}

const PLAIN: Readonly<Record<PlainControl, ControlRow>> = {
  pause: { task: 'pausing', from: ['active'] },
  unpause: { task: 'unpausing', from: ['paused'] },
  suspend: { task: 'suspending', from: ['active'] },
  resume: { task: 'resuming', from: ['suspended'] },
  unrescue: { task: 'unrescuing', from: ['rescued'] },
};
const DUMPABLE: readonly VmState[] = ['active', 'paused', 'rescued', 'resized', 'error'];
const SHELVABLE: readonly VmState[] = ['active', 'stopped', 'paused', 'suspended'];
const TAKES_VOLUMES: readonly VmState[] = ['active', 'paused', 'stopped', 'resized'];

/**
 * What users ask of an instance to hold it, to mend it, to put it away, or to give it something. Each checks the states in
 * the same step in which it writes what is to be done, and resolves when the request is out. All reject with
 * UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the instance is in another state, HostDownError (`ERR_HOST_DOWN`) when
 * its host is down, and RecordNotFoundError (`ERR_NOT_FOUND`).
 */
export class GuestControls {
  readonly #parts: ActionParts;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  /** Pauses an instance, suspends it, has it go on, or ends its rescue. */
  ask(context: CallerContext, uuid: string, what: PlainControl): Promise<Instance> {
    const { task, from } = PLAIN[what];
    const expected = { vm_state: from, task_state: [null] };
    return askHost(this.#parts, uuid, task, expected, (host, instance) =>
      this.#parts.computeApi.cast(context, `${what}_instance`, host, { instance }),
    );
  }

  /**
   * Starts an instance from another disk to be mended.
   * @param image - of which image; default: its own
   * @param password - of its administrator; default: it is made
   */
  rescue(
    context: CallerContext,
    uuid: string,
    image: string | null = null,
    password: string | null = null,
  ): Promise<Instance> {
    const expected = { vm_state: ['active', 'stopped', 'error'], task_state: [null] } as const;
    return askHost(this.#parts, uuid, 'rescuing', expected, (host, instance) =>
      this.#parts.computeApi.cast(context, 'rescue_instance', host, {
        instance,
        rescue_password: password,
        rescue_image_ref: image,
        clean_shutdown: true,
      }),
    );
  }

  /** Makes an image of an instance, and frees its host. Resolves with the id of the image; null: it boots from a volume. */
  async shelve(context: CallerContext, uuid: string): Promise<string | null> {
    const { records, computeApi } = this.#parts;
    const image = (await records.instances.get(uuid)).find('image_ref') === '' ? null : randomUUID();
    const expected = { vm_state: SHELVABLE, task_state: [null] };
    await askHost(this.#parts, uuid, 'shelving', expected, (host, instance) => {
      const common = { instance, clean_shutdown: true, accel_uuids: [] };
      return image === null
        ? computeApi.cast(context, 'shelve_offload_instance', host, common)
        : computeApi.cast(context, 'shelve_instance', host, { ...common, image_id: image });
    });
    return image;
  }

  /** Frees the host of an instance that is shelved there. */
  shelveOffload(context: CallerContext, uuid: string): Promise<Instance> {
    const expected = { vm_state: ['shelved'], task_state: [null] } as const;
    return askHost(this.#parts, uuid, 'shelving_offloading', expected, (host, instance) =>
      this.#parts.computeApi.cast(context, 'shelve_offload_instance', host, {
        instance,
        clean_shutdown: true,
        accel_uuids: [],
      }),
    );
  }

  /** Brings a shelved instance back, on its host or on one that the conductor chooses. */
  async unshelve(context: CallerContext, uuid: string): Promise<Instance> {
    const { records, conductor } = this.#parts;
    const shelved = { vm_state: ['shelved', 'shelved_offloaded'], task_state: [null] } as const;
    const instance = await records.instances.update(uuid, { task_state: 'unshelving' }, shelved);
    await sendOrTakeBack(
      () => conductor.cast(context, 'unshelve_instance', { instance, request_spec: null }),
      () => records.instances.update(uuid, { task_state: null }, { task_state: ['unshelving'] }),
    );
    return instance;
  }

  /** Gives the administrator of the guest another password; resolves when that is done. */
  async setPassword(context: CallerContext, uuid: string, password: string): Promise<void> {
    const expected = { vm_state: ['active'], task_state: [null] } as const;
    await askHost(this.#parts, uuid, 'updating_password', expected, (host, instance) =>
      this.#parts.computeApi.call(context, 'set_admin_password', host, { instance, new_pass: password }),
    );
  }

  /** Has the system of a guest dump its memory. */
  async crashDump(context: CallerContext, uuid: string): Promise<void> {
    const { instance, host } = await this.#at(uuid, DUMPABLE);
    await this.#parts.computeApi.cast(context, 'trigger_crash_dump', host, { instance });
  }

  /**
   * Gives an instance a volume; resolves with the name under which the guest gets it.
   * @param device - that name; null: the first that is free
   */
  async addVolume(
    context: CallerContext,
    uuid: string,
    volumeId: string,
    device: string | null = null,
  ): Promise<string> {
    const { instance, host } = await this.#at(uuid, TAKES_VOLUMES);
    return giveVolume(this.#parts.computeApi, context, host, {
      instance,
      device,
      volume_id: volumeId,
      disk_bus: null,
      device_type: null,
      tag: null,
      multiattach: false,
      deleteOnTermination: false,
    });
  }

  async #at(
    uuid: string,
    states: readonly VmState[],
  ): Promise<{ readonly instance: Instance; readonly host: string }> {
    const instance = await this.#parts.records.instances.get(uuid);
    checkExpected('instance', uuid, instance, { vm_state: states });
    return { instance, host: await liveHostOf(this.#parts, instance) };
  }
}
