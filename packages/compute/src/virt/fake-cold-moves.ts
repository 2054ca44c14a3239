import { HypervisorError, MigrationPreCheckError, RolledBackError } from '../errors.js';
import type { Networking } from '../network/networking.js';
import type { Instance } from '../objects/instance.js';
import type { ColdMoves, RestartOptions } from './cold-moves.js';
import { type GuestNames, guestOf } from './fake-orders.js';
import type { Hypervisors } from './hypervisors.js';
import type { StepControl } from './step-control.js';
import type { WorkOptions } from './work-options.js';

/** What the cold moves of a fake hypervisor work on. */
export interface FakeColdMovesParts {
  readonly host: string;
  readonly network: Hypervisors;
  readonly networking: Networking;
  readonly steps: StepControl;
  /** How long the disks of a guest take to be copied. */
  readonly copyMs: number;
}

/** Pieces in which disks are copied: between two of them the copying can be ended. */
const ROUNDS = 10;

/**
 * Cold moves of a fake hypervisor. Disks that have come are something that is prepared for a guest, as in a live
 * migration; what is kept on the source is no guest any more.
 */
export class FakeColdMoves implements ColdMoves {
  readonly #parts: FakeColdMovesParts;

  constructor(parts: FakeColdMovesParts) {
    this.#parts = parts;
  }

  /**
   * Step `check-cold-destination`.
   * @throws MigrationPreCheckError (`ERR_MIGRATION_PRE_CHECK`) when the guest is here already
   */
  async checkDestination(instance: Instance): Promise<void> {
    const { host, network, steps } = this.#parts;
    await steps.take('check-cold-destination', 0, { guest: guestOf(instance) });
    if (network.storeOf(host).state(instance.get('uuid')) === undefined) return;
    throw new MigrationPreCheckError('The guest is here already');
  }

  /**
   * Takes `copyMs` in equal pieces (steps `power-off`, then `copy-disks` for each).
   * @throws HypervisorError (`ERR_HYPERVISOR`) when the guest is not here
   */
  async migrateDiskAndPowerOff(
    instance: Instance,
    dest: string,
    { signal }: WorkOptions = {},
  ): Promise<string> {
    const { host, network, steps, copyMs } = this.#parts;
    const uuid = instance.get('uuid');
    const here = network.storeOf(host);
    const before = here.state(uuid);
    const guest = guestOf(instance);
    if (before === undefined) throw new HypervisorError(`Guest ${uuid} is not here`);
    try {
      await steps.take('power-off', 0, { guest, signal });
      here.set(uuid, 'shutdown');
      for (let round = 1; round <= ROUNDS; round += 1)
        await steps.take('copy-disks', copyMs / ROUNDS, { guest, signal });
    } catch (error) {
      if (error instanceof RolledBackError) here.set(uuid, before);
      throw error;
    }
    network.storeOf(dest).expect(uuid);
    here.keep(uuid);
    return '[]';
  }

  /**
   * Steps `finish-migration`, `plug-vifs` and `start-guest`.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when no disks have come
   */
  async finishMigration(
    instance: Instance,
    _diskInfo: string | null,
    options: RestartOptions,
  ): Promise<void> {
    const { host, network, steps } = this.#parts;
    const uuid = instance.get('uuid');
    const here = network.storeOf(host);
    await steps.take('finish-migration', 0, { guest: guestOf(instance), signal: options.signal });
    if (here.state(uuid) === undefined && !here.expected().includes(uuid)) {
      throw new HypervisorError(`The disks of guest ${uuid} have not come`);
    }
    here.set(uuid, 'shutdown');
    here.unexpect(uuid);
    await this.#start(guestOf(instance), options);
  }

  /** Step `confirm-migration`. */
  async confirmMigration(instance: Instance, { signal }: WorkOptions = {}): Promise<void> {
    const { host, network, steps } = this.#parts;
    await steps.take('confirm-migration', 0, { guest: guestOf(instance), signal });
    network.storeOf(host).dropKept(instance.get('uuid'));
  }

  /** Step `drop-disks`. */
  async dropDisks(instance: Instance): Promise<void> {
    const { host, network, steps } = this.#parts;
    await steps.take('drop-disks', 0, { guest: guestOf(instance) });
    network.storeOf(host).unexpect(instance.get('uuid'));
  }

  /**
   * Steps `finish-revert`, `plug-vifs` and `start-guest`.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when there is neither a guest nor anything that was kept of one
   */
  async finishRevertMigration(instance: Instance, options: RestartOptions): Promise<void> {
    const { host, network, steps } = this.#parts;
    const uuid = instance.get('uuid');
    const here = network.storeOf(host);
    here.takeBack(uuid);
    if (here.state(uuid) === undefined) throw new HypervisorError(`Nothing of guest ${uuid} was kept`);
    here.set(uuid, 'shutdown');
    await steps.take('finish-revert', 0, { guest: guestOf(instance), signal: options.signal });
    await this.#start(guestOf(instance), options);
  }

  async #start(guest: GuestNames, { powerOn, beforeStart, signal }: RestartOptions): Promise<void> {
    const { host, network, networking, steps } = this.#parts;
    await steps.take('plug-vifs', 0, { guest, signal });
    await networking.plug(guest.uuid, host);
    if (!powerOn) return;
    await beforeStart?.();
    await steps.take('start-guest', 0, { guest, signal });
    network.storeOf(host).set(guest.uuid, 'running');
  }
}
