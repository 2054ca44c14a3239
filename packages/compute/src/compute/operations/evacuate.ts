import type { RequestContext } from '@ebbgate/core';
import { ResourcesUnavailableError, UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import { resourcesOf } from '../../scheduler/flavor-resources.js';
import type { HostContext } from '../host-context.js';
import { beginAction, cutOff } from '../instance-action.js';
import { UnsettledWriteError, writeSurely } from '../sure-write.js';
import { endState, type Rebuild, REBUILD_TASKS, type RebuildArgs } from './rebuild.js';

const PREPARING = { status: ['pre-migrating'] } as const;

interface Evacuation {
  readonly migrationUuid: string;
  readonly uuid: string;
  readonly source: string;
}

/**
 * Makes an instance anew here whose host has failed (`compute-rpc.md` 3.6): accepted → claim → pre-migrating → done. It
 * belongs to the failed host until its guest runs here. When that fails nothing of it is left here, neither guest nor
 * resources.
 */
export class Evacuate {
  readonly #host: HostContext;
  readonly #rebuild: Rebuild;

  constructor(host: HostContext, rebuild: Rebuild) {
    this.#host = host;
    this.#rebuild = rebuild;
  }

  begin(context: RequestContext, args: RebuildArgs): void {
    const uuid = args.instance.get('uuid');
    beginAction(this.#host, context, 'evacuate_instance', uuid, (signal) =>
      this.#evacuate(context, args, signal),
    );
  }

  async #evacuate(context: RequestContext, args: RebuildArgs, signal: AbortSignal): Promise<void> {
    const { records, host, emit } = this.#host;
    const uuid = args.instance.get('uuid');
    const { evacuation, instance } = await this.#check(uuid, args);
    let isMade = false;
    try {
      if (!(await this.#claim(instance))) {
        throw new ResourcesUnavailableError(`${host} has no room for instance ${uuid}`);
      }
      const preparing = { status: 'pre-migrating', dest_node: host } as const;
      await records.migrations.update(evacuation.migrationUuid, preparing, { status: ['accepted'] });
      emit({ context, action: 'rebuild', phase: 'start', instance });
      await this.#rebuild.spawn(uuid, signal);
      isMade = true;
      const here = { host, node: host };
      const evacuated = await this.#rebuild.finish(context, uuid, here, endState(instance, args));
      emit({ context, action: 'rebuild', phase: 'end', instance: evacuated });
    } catch (error) {
      // It may be here, with the guest that is here: the guest stays, and the next start sees to the evacuation.
      if (isMade && error instanceof UnsettledWriteError) throw error;
      // Without room nothing has been touched: the instance stays what it was. Anything else leaves it in ERROR.
      emit({ context, action: 'rebuild', phase: 'error', instance, error });
      const untouched = error instanceof ResourcesUnavailableError;
      const fault = faultOf(error, host);
      await this.#takeBack(evacuation, untouched ? { fault } : { vm_state: 'error', fault });
      throw error;
    }
    await writeSurely(this.#host, {
      write: () => records.migrations.update(evacuation.migrationUuid, { status: 'done' }, PREPARING),
      read: () => records.migrations.get(evacuation.migrationUuid),
      isWritten: (one) => one.get('status') === 'done' || one.get('status') === 'completed',
    });
  }

  /**
   * Ends the evacuations to this host that its last run was cut off in: those whose instance has come are done, all
   * others are taken back.
   */
  async recover(): Promise<void> {
    const { records, host, logger } = this.#host;
    const here = { dest_compute: host, migration_type: 'evacuation', status: 'pre-migrating' } as const;
    for (const migration of await records.migrations.find(here)) {
      const [uuid, migrationUuid] = [migration.get('instance_uuid'), migration.get('uuid')];
      try {
        const instance = await records.instances.get(uuid);
        if (instance.get('host') === host) {
          await records.migrations.update(migrationUuid, { status: 'done' }, { status: ['pre-migrating'] });
          continue;
        }
        const evacuation = { uuid, migrationUuid, source: migration.get('source_compute') };
        await this.#takeBack(evacuation, { vm_state: 'error', fault: faultOf(cutOff(), host) });
      } catch (error) {
        logger.error(
          { err: error, migration: migrationUuid },
          'An evacuation that was cut off was not ended',
        );
      }
    }
  }

  /** It may have waited in a queue for long: is it still to come here, and is nobody else at it? */
  async #check(
    uuid: string,
    args: RebuildArgs,
  ): Promise<{ readonly evacuation: Evacuation; readonly instance: Instance }> {
    const { records, host } = this.#host;
    if (!args.migration) throw new UnexpectedStateError('An evacuation needs its migration');
    const migration = await records.migrations.get(args.migration.get('uuid'));
    const instance = await records.instances.get(uuid);
    const source = migration.get('source_compute');
    const wanted =
      migration.get('status') === 'accepted' &&
      migration.find('dest_compute') === host &&
      instance.get('task_state') === 'rebuilding' &&
      instance.get('host') === source;
    if (!wanted)
      throw new UnexpectedStateError(`Instance ${uuid} is not to be evacuated to ${host} any more`);
    return { evacuation: { uuid, source, migrationUuid: migration.get('uuid') }, instance };
  }

  /** The scheduler has claimed it already, so this only fails when that claim is gone and the room, too. */
  #claim(instance: Instance): Promise<boolean> {
    const { records, host } = this.#host;
    return records.allocations.claim(instance.get('uuid'), host, resourcesOf(instance.get('flavor')));
  }

  async #takeBack(evacuation: Evacuation, state: Partial<InstanceFields>): Promise<void> {
    const { records, virt, networking, host, logger, lifetime } = this.#host;
    const { uuid, source, migrationUuid } = evacuation;
    if (lifetime.aborted) return; // the next start sees to it
    const steps = [
      () => virt.destroy(uuid),
      () => networking.activateBinding(uuid, source),
      () => records.allocations.release(uuid, host),
      () => {
        const expected = { task_state: REBUILD_TASKS, host: [source] };
        return records.instances.update(uuid, { task_state: null, ...state }, expected);
      },
      () => records.migrations.update(migrationUuid, { status: 'failed' }),
    ];
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        logger.error({ err: error, instance: uuid }, 'A step of taking an evacuation back failed');
      }
    }
  }
}
