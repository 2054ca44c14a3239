import { HypervisorError } from '../errors.js';
import type { Networking } from '../network/networking.js';
import type { Instance } from '../objects/instance.js';
import type { RestartOptions } from './cold-moves.js';
import { guestOf } from './fake-orders.js';
import type { Hypervisors } from './hypervisors.js';
import type { SnapshotMoves } from './snapshot-moves.js';
import type { StepControl } from './step-control.js';

/** What the snapshot moves of a fake hypervisor work on. */
export interface FakeSnapshotMovesParts {
  readonly host: string;
  readonly network: Hypervisors;
  readonly networking: Networking;
  readonly steps: StepControl;
  /** How long a boot takes. */
  readonly spawnMs: number;
}

/** Moves of a fake hypervisor by way of an image. */
export class FakeSnapshotMoves implements SnapshotMoves {
  readonly #parts: FakeSnapshotMovesParts;

  constructor(parts: FakeSnapshotMovesParts) {
    this.#parts = parts;
  }

  /** Step `keep-disks`; the disks are apart, and the guest is gone, also when it fails. */
  async keepDisks(instance: Instance): Promise<void> {
    const { host, network, steps } = this.#parts;
    network.storeOf(host).keep(instance.get('uuid'));
    await steps.take('keep-disks', 0, { guest: guestOf(instance) });
  }

  /**
   * Steps `create-disks`, `plug-vifs` and `start-guest`.
   * @throws HypervisorError (`ERR_HYPERVISOR`) when there is no such image, or the guest is here already
   */
  async spawnFromImage(
    instance: Instance,
    imageId: string | null,
    { powerOn, beforeStart, signal }: RestartOptions,
  ): Promise<void> {
    const { host, network, networking, steps, spawnMs } = this.#parts;
    const guest = guestOf(instance);
    const { uuid } = guest;
    const here = network.storeOf(host);
    if (here.state(uuid) !== undefined) throw new HypervisorError(`Guest ${uuid} is here already`);
    if (imageId !== null && !network.images.has(imageId)) throw new HypervisorError(`No image ${imageId}`);
    await steps.take('create-disks', spawnMs / 2, { guest, signal });
    here.set(uuid, 'shutdown');
    try {
      await steps.take('plug-vifs', 0, { guest, signal });
      await networking.plug(uuid, host);
      if (!powerOn) return;
      await beforeStart?.();
      await steps.take('start-guest', spawnMs / 2, { guest, signal });
      here.set(uuid, 'running');
    } catch (error) {
      here.remove(uuid);
      throw error;
    }
  }

  async removeImage(imageId: string): Promise<void> {
    this.#parts.network.images.remove(imageId);
  }
}
