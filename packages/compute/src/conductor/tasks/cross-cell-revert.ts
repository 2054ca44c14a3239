import type { RequestContext } from '@ebbgate/core';
import { POWER_STATE } from '../../objects/states.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { DROP_LIMIT_MS } from './cross-cell-migrate.js';
import { removeInstance, removeMigration } from './cross-cell-copies.js';
import { type CrossCellEnds, endsOf, waitAgain } from './cross-cell-ends.js';

type Args = ArgsOf<ConductorMethods['revert_snapshot_based_resize']>;

/**
 * The user wants the instance back as it was (`compute-rpc.md` 3.5): in its old cell, at its source, which makes it again of
 * the disks that it has kept.
 */
export class CrossCellRevertTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #uuid: string;
  readonly #migrationUuid: string;
  readonly #args: Args;

  constructor(conductor: ConductorContext, context: RequestContext, args: Args) {
    this.#conductor = conductor;
    this.#context = context;
    this.#args = args;
    this.#uuid = args.instance.get('uuid');
    this.#migrationUuid = args.migration.get('uuid');
  }

  async run(): Promise<void> {
    const { migration } = this.#args;
    const ends = await endsOf(this.#conductor, migration);
    const { target, destHost } = ends;
    const status = (await target.records.migrations.get(this.#migrationUuid)).get('status');
    if (status !== 'reverting') return; // the request came twice
    if (!(await this.#conductor.hosts.takesRequests(target.records, destHost))) {
      const fields = { host: destHost, migration: this.#migrationUuid };
      this.#conductor.logger.warn(fields, 'A resize cannot be reverted now: its host takes no new requests');
      await waitAgain(target, migration, 'reverting');
      return;
    }
    try {
      await this.#switchBack(ends);
      await this.#leaveDestination(ends);
      await this.#finishAtSource(ends);
    } catch (error) {
      const fields = { err: error, migration: this.#migrationUuid };
      this.#conductor.logger.error(fields, 'A resize to another cell could not be reverted');
      await this.#failed(ends);
    }
  }

  /** The instance is in its old cell again, with what was changed of it meanwhile that is no matter of its size. */
  async #switchBack({ source, target, registry }: CrossCellEnds): Promise<void> {
    const there = await target.records.instances.get(this.#uuid);
    const back = {
      hidden: false,
      vm_state: 'resized',
      task_state: 'resize_reverting',
      display_name: there.find('display_name'),
      metadata: there.find('metadata'),
    } as const;
    const left = { hidden: [true], task_state: ['resize_migrated'] } as const;
    const reverting = { status: 'reverting', hidden: false } as const;
    await source.records.migrations.update(this.#migrationUuid, reverting, { status: ['finished'] });
    await source.records.instances.update(this.#uuid, back, left);
    await registry.mappings.set(this.#uuid, source.name);
    await target.records.instances.update(this.#uuid, { hidden: true });
  }

  async #leaveDestination({ target, destHost }: CrossCellEnds): Promise<void> {
    const { records, computeApi, networking } = target;
    const args = {
      instance: await records.instances.get(this.#uuid),
      migration: await records.migrations.get(this.#migrationUuid),
    };
    await computeApi.call(this.#context, 'revert_snapshot_based_resize_at_dest', destHost, args);
    await removeMigration(target, this.#migrationUuid, 'reverted');
    await removeInstance(target, this.#uuid);
    await networking.deallocate(this.#uuid);
  }

  async #finishAtSource({ source, sourceHost }: CrossCellEnds): Promise<void> {
    const { records, computeApi } = source;
    const args = {
      instance: await records.instances.get(this.#uuid),
      migration: await records.migrations.get(this.#migrationUuid),
    };
    const method = 'finish_revert_snapshot_based_resize_at_source';
    await computeApi.call(this.#context, method, sourceHost, args);
  }

  /**
   * The instance is in ERROR in its old cell, where its disks are: a hard reboot makes it again of them. What is left of it
   * at the destination goes, at once or at the next start there.
   */
  async #failed(ends: CrossCellEnds): Promise<void> {
    const { source, target, registry } = ends;
    await this.#try(() => registry.mappings.set(this.#uuid, source.name));
    await this.#try(() => this.#clearDestination(ends));
    await this.#try(() => target.records.allocations.release(this.#uuid));
    const status = ['finished', 'reverting', 'reverted', 'error'] as const;
    await this.#try(() =>
      source.records.migrations.update(this.#migrationUuid, { status: 'error', hidden: false }, { status }),
    );
    await this.#try(() => source.records.allocations.transfer(this.#migrationUuid, this.#uuid));
    const error = {
      vm_state: 'error',
      task_state: null,
      hidden: false,
      power_state: POWER_STATE.shutdown,
    } as const;
    const tasks = ['resize_migrated', 'resize_reverting', 'powering-off'] as const;
    const task = (await source.records.instances.get(this.#uuid)).get('task_state');
    if (!tasks.some((one) => one === task)) return; // the source has said so itself
    await this.#try(() => source.records.instances.update(this.#uuid, error, { task_state: tasks }));
  }

  async #clearDestination({ target, destHost }: CrossCellEnds): Promise<void> {
    const { records, computeApi, networking } = target;
    const instance = await records.instances.get(this.#uuid);
    if (instance.find('deleted') === true) return; // it has left in good order
    await records.migrations.update(this.#migrationUuid, { status: 'error' });
    const signal = AbortSignal.timeout(DROP_LIMIT_MS);
    const method = 'drop_move_claim_at_destination';
    await this.#try(() => computeApi.call(this.#context, method, destHost, { instance }, { signal }));
    await removeMigration(target, this.#migrationUuid, 'error');
    await removeInstance(target, this.#uuid);
    await networking.deallocate(this.#uuid);
  }

  async #try(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const fields = { err: error, instance: this.#uuid };
      this.#conductor.logger.error(fields, 'A step of cleaning up after a revert failed');
    }
  }
}
