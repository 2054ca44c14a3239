import { HypervisorError } from '../errors.js';
import type { Instance } from '../objects/instance.js';
import type { ConsoleAddress, PowerOffOptions, SnapshotOptions, VirtActions } from './actions.js';
import type { DestroyOptions } from './driver.js';
import { type FakeOrders, guestOf } from './fake-orders.js';
import type { GuestStore, Hypervisors, ImageStore } from './hypervisors.js';
import type { Pause } from './pause.js';
import { StepControl } from './step-control.js';
import type { WorkOptions } from './work-options.js';

/** How the actions of a fake hypervisor go. */
export interface FakeActionsOptions {
  /** Where the guests of all hosts are. */
  readonly network: Hypervisors;
  /** How long each of the actions takes (start, reboot, snapshot, …); default 0. */
  readonly actionMs?: number;
  /** All hosts have the same storage; default: none shares any with another. */
  readonly sharedStorage?: boolean;
  /** How time passes; default: by itself. */
  readonly pause?: Pause;
  /** How what is done to single guests is to go; default: as to all others. */
  readonly orders?: FakeOrders;
}

const FIRST_PORT = 5900;

/** What a fake hypervisor does to guests that stay where they are. Actions reject when the guest is not here. */
export class FakeActions implements Omit<VirtActions, 'forceComplete'> {
  /** The host whose machine this is. */
  readonly host: string;
  /** The machine itself. */
  readonly machine: GuestStore;
  /** Where failures and holds are ordered: what is done to a guest takes its steps there. */
  readonly steps: StepControl;
  /** Ids of the images that were uploaded from here. */
  readonly images: Set<string> = new Set<string>();
  /** Uuids of guests that were destroyed and whose disks were kept. */
  readonly keptDisks: Set<string> = new Set<string>();
  readonly #store: ImageStore;
  readonly #actionMs: number;
  readonly #sharedStorage: boolean;
  /** One console port for each guest, for as long as this lives. */
  readonly #ports = new Map<string, string>();

  constructor(host: string, options: FakeActionsOptions) {
    this.host = host;
    this.machine = options.network.storeOf(host);
    this.#store = options.network.images;
    this.steps = new StepControl(options.pause, options.orders);
    this.#actionMs = options.actionMs ?? 0;
    this.#sharedStorage = options.sharedStorage ?? false;
  }

  /** Step `destroy`; does nothing more when the guest is not here. */
  async destroy(uuid: string, { keepDisks = false }: DestroyOptions = {}): Promise<void> {
    await this.steps.take('destroy', 0, { guest: { uuid } });
    if (keepDisks && this.machine.state(uuid) !== undefined) this.keptDisks.add(uuid);
    if (!keepDisks) this.keptDisks.delete(uuid);
    this.machine.remove(uuid);
  }

  /** Step `power-on`. */
  async powerOn(instance: Instance, { signal }: WorkOptions = {}): Promise<void> {
    const uuid = this.#present(instance);
    await this.steps.take('power-on', this.#actionMs, { guest: guestOf(instance), signal });
    this.machine.set(uuid, 'running');
  }

  /** Step `power-off`. */
  async powerOff(instance: Instance, { clean, signal }: PowerOffOptions): Promise<void> {
    const uuid = this.#present(instance);
    const guest = guestOf(instance);
    await this.steps.take('power-off', clean ? this.#actionMs : 0, { guest, signal });
    this.machine.set(uuid, 'shutdown');
  }

  /** Step `reboot-soft`, or `power-off` and `reboot-hard`, which also makes a guest again of what was kept of it. */
  async reboot(instance: Instance, how: 'soft' | 'hard', { signal }: WorkOptions = {}): Promise<void> {
    if (how === 'hard') this.machine.takeBack(instance.get('uuid'));
    const uuid = this.#present(instance);
    const options = { guest: guestOf(instance), signal };
    if (how === 'hard') {
      await this.steps.take('power-off', 0, options);
      this.machine.set(uuid, 'shutdown');
    }
    await this.steps.take(how === 'hard' ? 'reboot-hard' : 'reboot-soft', this.#actionMs, options);
    this.machine.set(uuid, 'running');
  }

  /** Steps `copy-disk` and `upload-image`. */
  async snapshot(
    instance: Instance,
    imageId: string,
    { signal, onUpload }: SnapshotOptions = {},
  ): Promise<void> {
    this.#present(instance);
    const its = { guest: guestOf(instance), signal };
    await this.steps.take('copy-disk', this.#actionMs / 2, its);
    await onUpload?.();
    await this.steps.take('upload-image', this.#actionMs / 2, its);
    this.images.add(imageId);
    this.#store.add(imageId);
  }

  /** Three lines, of which the last is the guest's state (step `console-output`). */
  async consoleOutput(uuid: string, lines: number | null): Promise<string> {
    await this.steps.take('console-output', 0, { guest: { uuid } });
    const state = this.machine.state(uuid);
    if (state === undefined) throw new HypervisorError(`Guest ${uuid} is not here`);
    const text = ['Linux version 0.0.1 (fake)', `guest ${uuid}`, `is ${state}`];
    return text.slice(lines === null ? 0 : -Math.max(lines, 0) || text.length).join('\n');
  }

  /** A port of its own for each guest, from 5900. */
  async console(uuid: string, _type: string): Promise<ConsoleAddress> {
    if (this.machine.state(uuid) === undefined) throw new HypervisorError(`Guest ${uuid} is not here`);
    const port = this.#ports.get(uuid) ?? String(FIRST_PORT + this.#ports.size);
    this.#ports.set(uuid, port);
    return { host: this.host, port };
  }

  /** A name; undefined when there is neither the guest nor its disks. */
  async markDisks(uuid: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const here = this.machine.state(uuid) !== undefined || this.keptDisks.has(uuid);
    return here ? { filename: `tmp${uuid.slice(0, 8)}` } : undefined;
  }

  /** Whatever the mark: hosts share all of their storage or none of it (step `check-shared-storage`). */
  async seesMark(_mark: Readonly<Record<string, unknown>>): Promise<boolean> {
    await this.steps.take('check-shared-storage', 0);
    return this.#sharedStorage;
  }

  /** Does nothing. */
  async unmarkDisks(_mark: Readonly<Record<string, unknown>>): Promise<void> {
    // Fake marks are no files.
  }

  #present(instance: Instance): string {
    const uuid = instance.get('uuid');
    if (this.machine.state(uuid) === undefined) throw new HypervisorError(`Guest ${uuid} is not here`);
    return uuid;
  }
}
