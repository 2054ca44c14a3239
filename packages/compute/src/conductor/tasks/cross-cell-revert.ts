import { MessagingTimeoutError, type RequestContext } from '@ebbgate/core';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { removeInstance, removeMigration } from './cross-cell-copies.js';
import {
  asDriver,
  type CrossCellEnds,
  forgetMove,
  isDeleted,
  recordsOf,
  waitAgain,
} from './cross-cell-ends.js';
import { takeBack } from './cross-cell-take-back.js';

type Args = ArgsOf<ConductorMethods['revert_snapshot_based_resize']>;

/**
 * The user wants the instance back as it was (`compute-rpc.md` 3.5): in its old cell, at its source, which makes it again of
 * the disks that it has kept. Done again after it was cut off it does the rest.
 */
export class CrossCellRevertTask {
  readonly #conductor: ConductorContext;
  readonly #context: RequestContext;
  readonly #args: Args;

  constructor(conductor: ConductorContext, context: RequestContext, args: Args) {
    this.#conductor = conductor;
    this.#context = context;
    this.#args = args;
  }

  async run(): Promise<void> {
    await asDriver(this.#conductor, this.#args, (ends) => this.#run(ends));
  }

  async #run(ends: CrossCellEnds): Promise<void> {
    const { there, copy, instance } = await recordsOf(ends);
    if (!there || isDeleted(there) || there.get('status') !== 'reverting') return; // the request came twice
    const host = there.get('dest_compute') ?? '';
    const hasLeft = isDeleted(copy);
    const hasBegun = instance.get('task_state') === 'resize_reverting'; // in its old cell
    if (!hasLeft && !(await this.#isTaken(ends, host, hasBegun))) return;
    try {
      if (!hasLeft) await this.#leave(ends, host);
      await this.#comeBack(ends);
    } catch (error) {
      if (await isBack(ends)) return; // another conductor has done it meanwhile, or does the rest
      await this.#failed(ends, error);
    }
  }

  async #failed(ends: CrossCellEnds, error: unknown): Promise<void> {
    const { logger } = this.#conductor;
    const fields = { err: error, migration: ends.migrationUuid };
    if (error instanceof MessagingTimeoutError && isDeleted((await recordsOf(ends)).copy)) {
      logger.warn(fields, 'The source of a revert gives no answer: a conductor asks again');
      return;
    }
    logger.error(fields, 'A resize to another cell could not be reverted');
    await takeBack(this.#conductor, this.#context, ends, error);
  }

  async #leave(ends: CrossCellEnds, host: string): Promise<void> {
    await this.#switchBack(ends);
    await this.#leaveDestination(ends, host);
  }

  async #comeBack(ends: CrossCellEnds): Promise<void> {
    if (!(await isBack(ends))) await this.#finishAtSource(ends);
    await removeMigration(ends.target, ends.migrationUuid, 'reverted');
    await forgetMove(ends.source, ends.uuid);
    // It has come back, whether or not that can be told.
    const instance = await ends.source.records.instances.get(ends.uuid).catch(() => undefined);
    const event = { context: this.#context, action: 'resize_revert', phase: 'end' } as const;
    if (instance) this.#conductor.emit({ ...event, instance });
  }

  /**
   * Do both hosts take requests? If not it is asked for again: by the user, or, once it has begun, by a conductor. The source
   * is told first: if it begins to drain now, it waits for its part. Once it has begun that waits, drain or no drain.
   */
  async #isTaken(ends: CrossCellEnds, host: string, hasBegun: boolean): Promise<boolean> {
    const { source, target, migrationUuid } = ends;
    const { hosts, logger } = this.#conductor;
    const fields = { host, migration: migrationUuid };
    const there = await hosts.takesRequests(target.records, host);
    if (hasBegun) {
      if (!there) logger.warn(fields, 'A resize cannot be reverted now: its host takes no new requests');
      return there;
    }
    const { migrations } = source.records;
    const open = { status: ['finished', 'reverting'] } as const;
    const here = await migrations.update(migrationUuid, { status: 'reverting' }, open);
    if (there && (await hosts.takesRequests(source.records, here.get('source_compute')))) return true;
    logger.warn(fields, 'A resize cannot be reverted now: one of its hosts takes no new requests');
    await migrations.update(migrationUuid, { status: 'finished' }, { status: ['reverting'] });
    await waitAgain(ends, 'reverting');
    return false;
  }

  /** The instance is in its old cell again, with what was changed of it meanwhile that is no matter of its size. */
  async #switchBack({ source, target, registry, uuid, migrationUuid }: CrossCellEnds): Promise<void> {
    const there = await target.records.instances.get(uuid);
    this.#conductor.emit({
      context: this.#context,
      action: 'resize_revert',
      phase: 'start',
      instance: there,
    });
    const back = {
      hidden: false,
      vm_state: 'resized',
      task_state: 'resize_reverting',
      display_name: there.find('display_name'),
      metadata: there.find('metadata'),
    } as const;
    const reverting = { status: 'reverting', hidden: false } as const;
    const open = { status: ['finished', 'reverting'] } as const;
    await source.records.migrations.update(migrationUuid, reverting, open);
    await source.records.instances.update(uuid, back, {
      task_state: ['resize_migrated', 'resize_reverting'],
    });
    await registry.mappings.set(uuid, source.name);
    await target.records.instances.update(uuid, { hidden: true });
  }

  /** The record of the migration stays until the end, by which the conductors of that cell see that it has not come. */
  async #leaveDestination({ target, uuid, migrationUuid }: CrossCellEnds, host: string): Promise<void> {
    const { records, computeApi, networking } = target;
    const args = {
      instance: await records.instances.get(uuid),
      migration: await records.migrations.get(migrationUuid),
    };
    await computeApi.call(this.#context, 'revert_snapshot_based_resize_at_dest', host, args);
    await networking.deallocate(uuid);
    await removeInstance(target, uuid);
  }

  async #finishAtSource({ source, uuid, migrationUuid }: CrossCellEnds): Promise<void> {
    const { records, computeApi } = source;
    const migration = await records.migrations.get(migrationUuid);
    const args = { instance: await records.instances.get(uuid), migration };
    const method = 'finish_revert_snapshot_based_resize_at_source';
    await computeApi.call(this.#context, method, migration.get('source_compute'), args);
  }
}

/** Has the source said that the instance is what it was? */
async function isBack({ source, uuid, migrationUuid }: CrossCellEnds): Promise<boolean> {
  if ((await source.records.migrations.get(migrationUuid)).get('status') !== 'reverted') return false;
  return (await source.records.instances.get(uuid)).get('task_state') !== 'resize_reverting';
}
