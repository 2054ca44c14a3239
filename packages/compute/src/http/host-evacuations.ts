import type { Logger } from '@ebbgate/core';
import type { TaskRegistry } from '@ebbgate/service';
import { evacuateHost, type EvacuationMeans, type EvacuationPlan } from '../api/host-evacuation.js';

/** What is done, and from which host on which. */
interface EvacuationOrder extends Pick<EvacuationPlan, 'host' | 'parallel'> {
  /** Of the record of the service: hosts of two cells can have one name. */
  readonly uuid: string;
}

interface Run {
  isOver: boolean;
  /** Why instances could not be asked for, by their uuids. */
  readonly refused: Map<string, unknown>;
}

/** The evacuations of whole hosts that this API drives. It keeps nothing that is needed: another can go on with them. */
export class HostEvacuations {
  readonly #tasks: TaskRegistry;
  readonly #logger: Logger;
  readonly #lookMs: number;
  readonly #runs = new Map<string, Run>();
  readonly #stopping = new AbortController();

  constructor({
    tasks,
    logger,
    lookMs = 500,
  }: {
    readonly tasks: TaskRegistry;
    readonly logger: Logger;
    /** From one look at the records to the next; default 500. */
    readonly lookMs?: number | undefined;
  }) {
    this.#tasks = tasks;
    this.#logger = logger;
    this.#lookMs = lookMs;
  }

  /** Begins to evacuate a host, as a task; nothing when that is under way here. */
  begin({ uuid, host, parallel }: EvacuationOrder, means: EvacuationMeans): void {
    if (this.isDriven(uuid)) return;
    const run: Run = { isOver: false, refused: new Map() };
    this.#runs.set(uuid, run);
    const plan = { host, parallel, lookMs: this.#lookMs, signal: this.#stopping.signal };
    const record = { name: 'evacuate_host', instance: host };
    this.#tasks
      .track(record, () => evacuateHost(means, plan, run.refused))
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return; // whoever asks again goes on with it
        this.#logger.error({ err: error, host }, 'The evacuation of a host was broken off: ask for it again');
      })
      .finally(() => {
        run.isOver = true;
      });
  }

  /** Does this API still begin evacuations of the service's instances, or wait for them? */
  isDriven(uuid: string): boolean {
    return this.#runs.get(uuid)?.isOver === false;
  }

  /** What the last run could not even ask for, by the uuids of the instances. */
  refusedAt(uuid: string): ReadonlyMap<string, unknown> {
    return this.#runs.get(uuid)?.refused ?? new Map<string, unknown>();
  }

  /** Begins no more: what is under way goes on without. */
  stop(): void {
    this.#stopping.abort();
  }
}
