import { randomUUID } from 'node:crypto';
import type { CallerContext } from '@ebbgate/rpc';
import { UnexpectedStateError } from '../errors.js';
import { deletedNow, EXISTING } from '../objects/deleted.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { MigrationStatus } from '../objects/states.js';
import type { Dictionary } from '../rpc/kinds.js';
import { type ActionParts, isHostUp, liveHostOf } from './action-parts.js';
import { askHost } from './ask-host.js';
import { confirmOnDelete } from './moves.js';
import { sendOrTakeBack } from './take-back.js';

/** A live migration can be taken back from these. */
export const ABORTABLE: readonly MigrationStatus[] = ['queued', 'preparing', 'running'];

/**
 * What users ask of an instance where it is. Each checks the states in the same step in which it writes what is to be
 * done, and resolves when the request is out. A request that could not be sent leaves nothing behind; one of which nobody
 * knows whether it was (`outcome` of the error) leaves what it needs when it arrives. All reject with UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the
 * instance is in another state, HostDownError (`ERR_HOST_DOWN`) when its host is down, and RecordNotFoundError
 * (`ERR_NOT_FOUND`).
 */
export class InstanceActions {
  readonly #parts: ActionParts;

  constructor(parts: ActionParts) {
    this.#parts = parts;
  }

  /**
   * Deletes an instance, whatever is done to it. One that is on no host, or on one that is down, is deleted here: what is
   * left of it there goes when the host comes back.
   */
  async delete(context: CallerContext, uuid: string): Promise<void> {
    const { records, computeApi } = this.#parts;
    const { instance, before } = await this.#markDeleting(uuid);
    const host = instance.find('host') ?? null;
    const isUp = host !== null && (await isHostUp(this.#parts, host));
    const takeBack = (): Promise<unknown> =>
      records.instances.update(uuid, before, { task_state: ['deleting'] });
    await confirmOnDelete(this.#parts, context, instance).catch(async (error: unknown) => {
      await takeBack();
      throw error;
    });
    if (isUp) {
      const args = { instance, bdms: null };
      await sendOrTakeBack(() => computeApi.cast(context, 'terminate_instance', host, args), takeBack);
      return;
    }
    await sendOrTakeBack(() => this.#parts.networking.deallocate(uuid), takeBack);
    await records.allocations.release(uuid);
    await records.instances.update(uuid, deletedNow(), { task_state: ['deleting'], host: [host] });
  }

  /** Whatever is done to it; with what that was, for the case that the request cannot be sent. */
  async #markDeleting(uuid: string): Promise<{
    readonly instance: Instance;
    readonly before: Partial<Pick<InstanceFields, 'task_state' | 'progress'>>;
  }> {
    const { instances } = this.#parts.records;
    for (;;) {
      const present = await instances.get(uuid);
      const [task, progress = 0] = [present.get('task_state'), present.find('progress')];
      const expected = { vm_state: EXISTING, task_state: [task] };
      try {
        const deleting = { task_state: 'deleting', progress: 0 } as const;
        const instance = await instances.update(uuid, deleting, expected);
        return { instance, before: { task_state: task, progress } };
      } catch (error) {
        const now = await instances.get(uuid);
        if (now.get('vm_state') === 'deleted' || now.get('task_state') === task) throw error;
      }
    }
  }

  /** Starts an instance that is stopped. */
  async start(context: CallerContext, uuid: string): Promise<Instance> {
    const expected = { vm_state: ['stopped'], task_state: [null] } as const;
    return askHost(this.#parts, uuid, 'powering-on', expected, (host, instance) =>
      this.#parts.computeApi.cast(context, 'start_instance', host, { instance }),
    );
  }

  /** Shuts the guest of an instance down. @param options - `clean`: it is asked first; default true */
  async stop(
    context: CallerContext,
    uuid: string,
    { clean = true }: { readonly clean?: boolean } = {},
  ): Promise<Instance> {
    const expected = { vm_state: ['active', 'error'], task_state: [null] } as const;
    return askHost(this.#parts, uuid, 'powering-off', expected, (host, instance) =>
      this.#parts.computeApi.cast(context, 'stop_instance', host, { instance, clean_shutdown: clean }),
    );
  }

  /** Reboots an instance; a hard reboot also mends one in ERROR, and takes the place of a soft one that hangs. */
  async reboot(context: CallerContext, uuid: string, how: 'soft' | 'hard' = 'soft'): Promise<Instance> {
    const send = (host: string, instance: Instance): Promise<void> => {
      const args = { instance, block_device_info: null, reboot_type: how.toUpperCase() };
      return this.#parts.computeApi.cast(context, 'reboot_instance', host, args);
    };
    if (how === 'soft') {
      return askHost(this.#parts, uuid, 'rebooting', { vm_state: ['active'], task_state: [null] }, send);
    }
    const tasks = [null, 'rebooting', 'reboot_started'] as const;
    const states = ['active', 'stopped', 'paused', 'error'] as const;
    return askHost(this.#parts, uuid, 'rebooting_hard', { vm_state: states, task_state: tasks }, send);
  }

  /** Makes an image of an instance; resolves with the id that it will have. */
  async snapshot(context: CallerContext, uuid: string): Promise<string> {
    const expected = { vm_state: ['active', 'stopped', 'paused'], task_state: [null] } as const;
    const imageId = randomUUID();
    await askHost(this.#parts, uuid, 'image_snapshot_pending', expected, (host, instance) =>
      this.#parts.computeApi.cast(context, 'snapshot_instance', host, { instance, image_id: imageId }),
    );
    return imageId;
  }

  /** What the guest has written to its console. @param lines - how many of the last; null: all */
  async consoleOutput(context: CallerContext, uuid: string, lines: number | null = null): Promise<string> {
    const instance = await this.#parts.records.instances.get(uuid);
    const host = await liveHostOf(this.#parts, instance);
    const args = { instance, tail_length: lines };
    return String(await this.#parts.computeApi.call(context, 'get_console_output', host, args));
  }

  /** Where a console of the guest can be reached, with a token of its own for a proxy. @param type - `novnc`, … */
  async openConsole(
    context: CallerContext,
    uuid: string,
    protocol: 'vnc' | 'spice' | 'serial',
    type: string,
  ): Promise<Dictionary> {
    const instance = await this.#parts.records.instances.get(uuid);
    const host = await liveHostOf(this.#parts, instance);
    const args = { instance, console_type: type };
    return this.#parts.computeApi.call(context, `get_${protocol}_console`, host, args);
  }

  /** Is this the port of that console? What a console proxy asks before it lets somebody in. */
  async validateConsole(
    context: CallerContext,
    uuid: string,
    console: { readonly port: string; readonly type: string },
  ): Promise<boolean> {
    const instance = await this.#parts.records.instances.get(uuid);
    const host = await liveHostOf(this.#parts, instance);
    const args = { instance, port: console.port, console_type: console.type };
    return this.#parts.computeApi.call(context, 'validate_console_port', host, args);
  }

  /** Takes a live migration back whose guest has not left yet. */
  async abortLiveMigration(context: CallerContext, uuid: string): Promise<void> {
    const { instance, migration } = await this.#liveMigration(uuid, ABORTABLE);
    const args = { instance, migration_id: migration.get('id') };
    const source = migration.get('source_compute');
    await this.#parts.computeApi.cast(context, 'live_migration_abort', source, args);
  }

  /** Ends a live migration that copies and copies: its guest stands still for the rest. */
  async forceCompleteLiveMigration(context: CallerContext, uuid: string): Promise<void> {
    const { instance, migration } = await this.#liveMigration(uuid, ['running']);
    const source = migration.get('source_compute');
    await this.#parts.computeApi.cast(context, 'live_migration_force_complete', source, { instance });
  }

  async #liveMigration(
    uuid: string,
    statuses: readonly MigrationStatus[],
  ): Promise<{ readonly instance: Instance; readonly migration: Migration }> {
    const { records } = this.#parts;
    const instance = await records.instances.get(uuid);
    const wanted = { instance_uuid: uuid, migration_type: 'live-migration' } as const;
    const migration = (await records.migrations.find(wanted)).findLast((one) =>
      statuses.includes(one.get('status')),
    );
    if (!migration || instance.get('task_state') !== 'migrating') {
      throw new UnexpectedStateError(`No live migration of instance ${uuid} is ${statuses.join(' or ')}`);
    }
    await liveHostOf(this.#parts, instance); // it is at the source until the end
    return { instance, migration };
  }
}
