import type { RequestContext } from '@ebbgate/core';
import { takeAllocationsBack } from '../../db/move-allocations.js';
import { RolledBackError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { POWER_STATE } from '../../objects/states.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import { Attempts } from '../attempts.js';
import type { HostContext } from '../host-context.js';
import { beginAction, cutOff } from '../instance-action.js';
import { startWhenPlugged } from '../plugged-start.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';
import { NO_OTHER_SIZE, resizeJob, type ResizeJob } from './resize-job.js';

type ResizeArgs = ArgsOf<ComputeMethods['resize_instance']>;

/** How long a destination may take to say that it has dropped everything; if it does not it finds out by the records. */
const DROP_LIMIT_MS = 10_000;

const BEGINNING = ['resize_prep', 'resize_migrating'] as const;

/** How far a move is: what has to be taken back when it fails. `handed-over`: the record says that it is elsewhere. */
type Stage = 'untouched' | 'moving' | 'sent' | 'handed-over';

interface SourceJob extends ResizeJob {
  readonly dest: string;
  stage: Stage;
}

/** The source's side of cold migrations and resizes (`compute-rpc.md` 3.2, steps 4 to 6). */
export class ResizeAtSource {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /** The destination asks for the disks. It counts as running from now on. */
  begin(context: RequestContext, args: ResizeArgs): void {
    const job = sourceJob(resizeJob(context, args.instance, args.migration), 'untouched');
    beginAction(this.#host, context, 'resize_instance', job.uuid, (signal) => this.#run(job, args, signal));
  }

  async #run(job: SourceJob, args: ResizeArgs, signal: AbortSignal): Promise<void> {
    await this.#takeUp(job);
    try {
      await this.#move(job, args, signal);
    } catch (error) {
      // It may be the destination's, or on its way: the next start finds out.
      const isUnknown = job.stage === 'sent' && error instanceof UnsettledWriteError;
      if (!isUnknown && !this.#host.lifetime.aborted) await this.#takeBack(job, error);
      throw error;
    }
  }

  /**
   * A message that comes late, or twice, finds another status: then there is nothing to do, and nothing to undo here; a
   * destination that waits for the disks of a move that has ended is told.
   */
  async #takeUp(job: SourceJob): Promise<void> {
    const { records, host } = this.#host;
    const ours = { status: ['pre-migrating'], source_compute: [host] } as const;
    try {
      await writeSurely(this.#host, {
        write: () => records.migrations.update(job.migrationUuid, { status: 'migrating' }, ours),
        read: () => records.migrations.get(job.migrationUuid),
        isWritten: (one) => one.get('status') === 'migrating' && one.get('source_compute') === host,
      });
    } catch (error) {
      if (error instanceof UnexpectedStateError) await this.#tellDestination(job);
      if (error instanceof UnsettledWriteError && !this.#host.lifetime.aborted) {
        // Only when this still has to begin: another message may have ended it.
        const untouched = { ...ours, status: ['pre-migrating', 'migrating'] } as const;
        await records.migrations.update(job.migrationUuid, { status: 'error' }, untouched);
        await this.#takeBack(job, error);
      }
      throw error;
    }
  }

  async #move(job: SourceJob, args: ResizeArgs, signal: AbortSignal): Promise<void> {
    const { records, virt, networking, host } = this.#host;
    const { uuid, dest, migrationUuid } = job;
    const preparing = { task_state: ['resize_prep'], host: [host] } as const;
    const instance = await writeSurely(this.#host, {
      write: () => records.instances.update(uuid, { task_state: 'resize_migrating' }, preparing),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === host && one.get('task_state') === 'resize_migrating',
    });
    job.stage = 'moving';
    const { context } = job;
    this.#host.emit({ context, action: 'resize', phase: 'start', instance });
    const diskInfo = await virt.coldMoves.migrateDiskAndPowerOff(instance, dest, { signal });
    job.stage = 'sent';
    await networking.activateBinding(uuid, dest);
    const migrating = { status: ['migrating'] } as const;
    const migration = await records.migrations.update(migrationUuid, { status: 'post-migrating' }, migrating);
    const moved = await this.#recordMoved(uuid, dest);
    job.stage = 'handed-over';
    await this.#handOver({ ...job, instance: moved, migration }, args, diskInfo);
    this.#host.emit({ context, action: 'resize', phase: 'end', instance: moved });
  }

  /** From here on it is the destination's. */
  #recordMoved(uuid: string, dest: string): Promise<Instance> {
    const { records } = this.#host;
    const there = { host: dest, node: dest, task_state: 'resize_migrated' } as const;
    const changes = { ...there, power_state: POWER_STATE.shutdown };
    return writeSurely(this.#host, {
      write: () => records.instances.update(uuid, changes, { task_state: ['resize_migrating'] }),
      read: () => records.instances.get(uuid),
      isWritten: (one) => one.get('host') === dest, // whatever is asked of it there since
    });
  }

  async #handOver(
    { context, dest, instance, migration }: SourceJob,
    { image, request_spec }: Pick<ResizeArgs, 'image' | 'request_spec'>,
    diskInfo: string | null,
  ): Promise<void> {
    const args = { instance, migration, image, disk_info: diskInfo, request_spec };
    await this.#host.computeApi.cast(context, 'finish_resize', dest, args);
  }

  /** The instance stays here, and the destination is told, which would wait for ever otherwise (B1). */
  async #takeBack(job: SourceJob, error: unknown): Promise<void> {
    if (job.stage === 'handed-over' && !(await this.#regain(job))) return;
    const { records, networking, host, logger } = this.#host;
    const { uuid, migrationUuid, dest } = job;
    const attempts = new Attempts(logger, { instance: uuid, migration: migrationUuid });
    await attempts.make('binding the ports back', () => networking.activateBinding(uuid, host));
    await attempts.make('giving the allocations back', () =>
      takeAllocationsBack(records.allocations, { instanceUuid: uuid, migrationUuid, dest }),
    );
    const changes = { ...(await this.#asBefore(job, error, attempts)), fault: faultOf(error, host) };
    // The first write may have happened without an answer.
    const task_state = job.stage === 'untouched' ? BEGINNING : (['resize_migrating'] as const);
    await attempts.make('resetting the instance', () =>
      records.instances.update(uuid, changes, { task_state }),
    );
    await this.#end(job, attempts);
  }

  /** Last of all: until the migration has ended the next start sees to it. */
  async #end(job: SourceJob, attempts: Attempts): Promise<void> {
    const { migrations } = this.#host.records;
    const under = { status: ['migrating', 'post-migrating'] } as const;
    await attempts.make('recording the error', () =>
      migrations.update(job.migrationUuid, { status: 'error' }, under),
    );
    await attempts.make('telling the destination', () => this.#tellDestination(job));
  }

  /** False when the destination has got its message all the same, and has begun: then it is its affair. */
  async #regain({ uuid, dest }: SourceJob): Promise<boolean> {
    const { records, host } = this.#host;
    const back = { host, node: host, task_state: 'resize_migrating' } as const;
    try {
      await records.instances.update(uuid, back, { task_state: ['resize_migrated'], host: [dest] });
      return true;
    } catch (error) {
      if (error instanceof UnexpectedStateError) return false;
      throw error;
    }
  }

  /** The guest does again what it did, or else the instance is in ERROR and its guest here, as it is. */
  async #asBefore(job: SourceJob, error: unknown, attempts: Attempts): Promise<Partial<InstanceFields>> {
    const changes = { ...NO_OTHER_SIZE, task_state: null };
    if (job.stage === 'untouched') return changes;
    const wasOn = job.instance.get('vm_state') !== 'stopped';
    const isBack =
      job.stage === 'moving'
        ? error instanceof RolledBackError
        : await attempts.make('making the guest again', () => this.#makeGuestAgain(job, wasOn));
    const isOn = (await this.#host.virt.guestState(job.uuid)) === 'running';
    const power_state = isOn ? POWER_STATE.running : POWER_STATE.shutdown;
    return { ...changes, power_state, ...(!isBack && { vm_state: 'error' }) };
  }

  async #makeGuestAgain({ uuid, instance }: SourceJob, powerOn: boolean): Promise<void> {
    const { virt, lifetime } = this.#host;
    await startWhenPlugged(this.#host, uuid, (beforeStart) =>
      virt.coldMoves.finishRevertMigration(instance, { powerOn, beforeStart, signal: lifetime }),
    );
  }

  async #tellDestination({ context, uuid, dest }: SourceJob): Promise<void> {
    const { computeApi, records, lifetime } = this.#host;
    const signal = AbortSignal.any([lifetime, AbortSignal.timeout(DROP_LIMIT_MS)]);
    const instance: Instance = await records.instances.get(uuid);
    await computeApi.call(context, 'drop_move_claim_at_destination', dest, { instance }, { signal });
  }

  /**
   * What an end of the process has cut off. While the instance is here it is taken back, or all but the end of it has been;
   * when it is not, only the message to the destination may be missing: it is sent again, and a second one does nothing
   * there.
   */
  resume(job: ResizeJob): void {
    const its = sourceJob(job, job.instance.get('task_state') === 'resize_prep' ? 'untouched' : 'sent');
    beginAction(this.#host, its.context, 'resize_instance', its.uuid, async () => {
      const task = job.instance.get('task_state');
      if (task === 'resize_migrated') await this.#handOver(its, { image: {}, request_spec: null }, null);
      else if (BEGINNING.some((one) => one === task)) await this.#takeBack(its, cutOff());
      else await this.#end(its, new Attempts(this.#host.logger, { migration: its.migrationUuid }));
    });
  }
}

function sourceJob(job: ResizeJob, stage: Stage): SourceJob {
  const dest = job.migration.find('dest_compute') ?? null;
  if (dest === null) throw new UnexpectedStateError('The migration has no destination');
  return { ...job, dest, stage };
}
