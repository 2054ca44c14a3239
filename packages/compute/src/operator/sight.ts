import { RecordNotFoundError } from '../errors.js';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { isFinal } from '../objects/states.js';
import { type HostSight, hostsOf } from './hosts.js';
import { isShown } from './named.js';
import type { CloudView } from './work.js';

/** What an operator sees at one moment. */
export interface Sight {
  readonly hosts: readonly HostSight[];
  readonly instances: readonly Instance[];
  /** The migration of an instance that is under way, or was when it was last looked at; by the instance's uuid. */
  readonly moves: ReadonlyMap<string, Migration>;
}

/** Looks at a cloud again and again. The end of what was seen before is seen, too. */
export class Lookout {
  readonly #api: CloudView;
  readonly #only: readonly string[] | undefined;
  readonly #busy = new Set<string>();
  readonly #known = new Set<string>();

  /** @param only - uuids of the instances that matter; default: all, and all hosts */
  constructor(api: CloudView, only?: readonly string[]) {
    this.#api = api;
    this.#only = only;
  }

  async look(): Promise<Sight> {
    const [hosts, instances] = await Promise.all([
      this.#only ? [] : hostsOf(this.#api),
      this.#only ? Promise.all(this.#only.map((uuid) => this.#one(uuid))) : this.#all(),
    ]);
    const moves = new Map<string, Migration>();
    for (const instance of instances) {
      const migration = await this.#moveOf(instance);
      if (migration) moves.set(instance.get('uuid'), migration);
    }
    return { hosts, instances, moves };
  }

  #one(uuid: string): Promise<Instance> {
    return this.#api.records.instances.get(uuid);
  }

  async #all(): Promise<readonly Instance[]> {
    const present = (await this.#api.records.instances.find({})).filter(isShown);
    const uuids = new Set(present.map((one) => one.get('uuid')));
    const gone = [...this.#known].filter((uuid) => !uuids.has(uuid));
    for (const uuid of uuids) this.#known.add(uuid);
    for (const uuid of gone) this.#known.delete(uuid);
    return [...present, ...(await Promise.all(gone.map((uuid) => this.#deleted(uuid)))).flat()];
  }

  async #deleted(uuid: string): Promise<readonly Instance[]> {
    try {
      return [await this.#one(uuid)];
    } catch (error) {
      if (error instanceof RecordNotFoundError) return []; // it has been purged
      throw error;
    }
  }

  /** Only instances are asked about that something is done to, or was at the last look; or the few that matter. */
  async #moveOf(instance: Instance): Promise<Migration | undefined> {
    const uuid = instance.get('uuid');
    const wasBusy = this.#busy.delete(uuid) || this.#only !== undefined;
    const isBusy = instance.get('task_state') !== null || instance.get('vm_state') === 'resized';
    if (!isBusy && !wasBusy) return undefined;
    const migration = await newestMove(this.#api, uuid);
    const isUnderWay = migration !== undefined && !isFinal(migration.get('status'));
    if (isBusy || isUnderWay) this.#busy.add(uuid); // the record of the migration may end later than the task
    return wasBusy || isUnderWay ? migration : undefined;
  }
}

/** The last migration of an instance that was begun. */
export async function newestMove({ records }: CloudView, uuid: string): Promise<Migration | undefined> {
  return (await records.migrations.find({ instance_uuid: uuid })).at(-1);
}
