import { HypervisorError } from '../errors.js';
import type { Instance } from '../objects/instance.js';
import type { GuestState } from './driver.js';
import { guestOf } from './fake-orders.js';
import type { GuestControl, RescueOptions } from './guest-control.js';
import type { GuestStore } from './hypervisors.js';
import type { StepControl } from './step-control.js';
import type { VirtStep } from './virt-steps.js';
import type { WorkOptions } from './work-options.js';

/** What the guest control of a fake hypervisor works on. */
export interface FakeGuestControlParts {
  /** The machine of the host. */
  readonly machine: GuestStore;
  /** Where failures and holds are ordered. */
  readonly steps: StepControl;
  /** How long each action takes that changes what the guest does. */
  readonly actionMs: number;
}

/** What a fake hypervisor does to guests, step by step. All but `denyShare` reject when the guest is not here. */
export class FakeGuestControl implements GuestControl {
  /** Guests whose file systems stand still. */
  readonly quiesced: Set<string> = new Set<string>();
  readonly #parts: FakeGuestControlParts;

  constructor(parts: FakeGuestControlParts) {
    this.#parts = parts;
  }

  /** Step `pause`. */
  pause(instance: Instance, options: WorkOptions = {}): Promise<void> {
    return this.#become('pause', instance, 'paused', options);
  }

  /** Step `unpause`. */
  unpause(instance: Instance, options: WorkOptions = {}): Promise<void> {
    return this.#become('unpause', instance, 'running', options);
  }

  /** Step `suspend`. */
  suspend(instance: Instance, options: WorkOptions = {}): Promise<void> {
    return this.#become('suspend', instance, 'shutdown', options);
  }

  /** Step `resume`. */
  resume(instance: Instance, options: WorkOptions = {}): Promise<void> {
    return this.#become('resume', instance, 'running', options);
  }

  /** Steps `power-off` and `rescue`. */
  async rescue(instance: Instance, { clean, signal }: RescueOptions): Promise<void> {
    const { machine, actionMs } = this.#parts;
    const uuid = this.#present(instance);
    await this.#take('power-off', instance, clean ? actionMs : 0, signal);
    machine.set(uuid, 'shutdown');
    await this.#become('rescue', instance, 'running', signal ? { signal } : {});
  }

  /** Step `unrescue`. */
  unrescue(instance: Instance, options: WorkOptions = {}): Promise<void> {
    return this.#become('unrescue', instance, 'running', options);
  }

  /** Step `set-password`. @throws HypervisorError (`ERR_HYPERVISOR`) when the guest does not run */
  async setAdminPassword(instance: Instance, _password: string): Promise<void> {
    const uuid = this.#present(instance);
    if (this.#parts.machine.state(uuid) !== 'running')
      throw new HypervisorError(`Guest ${uuid} does not run`);
    await this.#take('set-password', instance);
  }

  /** Step `inject-nmi`. */
  async injectNmi(instance: Instance): Promise<void> {
    this.#present(instance);
    await this.#take('inject-nmi', instance);
  }

  /** Step `quiesce`. */
  async quiesce(instance: Instance): Promise<void> {
    const uuid = this.#present(instance);
    await this.#take('quiesce', instance);
    this.quiesced.add(uuid);
  }

  /** Step `unquiesce`. */
  async unquiesce(instance: Instance): Promise<void> {
    const uuid = this.#present(instance);
    await this.#take('unquiesce', instance);
    this.quiesced.delete(uuid);
  }

  /** Step `attach-volume`, and no more: fake guests have no disks. */
  async attachVolume(instance: Instance, _volumeId: string, _deviceName: string): Promise<void> {
    this.#present(instance);
    await this.#take('attach-volume', instance);
  }

  /** Step `allow-share`. */
  async allowShare(instance: Instance, _shareId: string): Promise<void> {
    this.#present(instance);
    await this.#take('allow-share', instance);
  }

  /** Step `deny-share`. */
  denyShare(instance: Instance, _shareId: string): Promise<void> {
    return this.#take('deny-share', instance);
  }

  async #become(
    step: VirtStep,
    instance: Instance,
    state: GuestState,
    { signal }: WorkOptions,
  ): Promise<void> {
    const uuid = this.#present(instance);
    await this.#take(step, instance, this.#parts.actionMs, signal);
    this.#parts.machine.set(uuid, state);
  }

  #take(step: VirtStep, instance: Instance, ms = 0, signal?: AbortSignal): Promise<void> {
    return this.#parts.steps.take(step, ms, { guest: guestOf(instance), signal });
  }

  #present(instance: Instance): string {
    const uuid = instance.get('uuid');
    if (this.#parts.machine.state(uuid) === undefined) throw new HypervisorError(`Guest ${uuid} is not here`);
    return uuid;
  }
}
