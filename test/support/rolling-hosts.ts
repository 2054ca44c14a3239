import type { Cloud } from '#compute/main-job/cloud.js';
import { RecordWatch } from '#compute/db/record-watch.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import {
  type ComputeHost,
  HostDownError,
  type Instance,
  type Migration,
  UnexpectedStateError,
} from '@ebbgate/compute';
import type { DrainReport } from '@ebbgate/service';
import { allocationProblems, placeProblems } from './cloud-checks.js';
import { randomNumbers } from './rigs/random-faults.js';

/** How a cloud is used while its hosts are rolled. */
export interface RollingHostsOptions {
  /** How many guests there are before. */
  readonly guests: number;
  /** Each asks for a live migration, or now and then a boot, and waits until that is over before the next. */
  readonly users: number;
  /** Decides who asks for what. */
  readonly seed: number;
  /** Told whenever another guest runs, or another host serves again. */
  readonly onProgress?: (progress: RollProgress) => void;
}

/** How far it is. */
export interface RollProgress {
  readonly phase: 'booted' | 'rolled';
  readonly done: number;
  readonly of: number;
}

/** What came of the requests of the users so far. */
export interface RollCounts {
  boots: number;
  /** Migrations that were asked for. */
  moves: number;
  /** Told at once that it cannot be. */
  refused: number;
  /** Of the others. */
  completed: number;
}

/** One boot in so many requests. */
const BOOTS_EVERY = 8;
/** So long nothing takes in which anything still moves. */
const STUCK_MS = 120_000;
const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'error', 'cancelled']);

/** Restarts the hosts of a cloud, so many at a time, while users have guests moved between them and booted on them. */
export class RollingHosts {
  readonly counts: RollCounts = { boots: 0, moves: 0, refused: 0, completed: 0 };
  /** Milliseconds of each drain. */
  readonly drains: number[] = [];
  readonly #cloud: Cloud;
  readonly #options: RollingHostsOptions;
  readonly #random: () => number;
  readonly #watch: RecordWatch;
  readonly #guests: string[] = [];
  /** Guests of which a user has asked something. */
  readonly #asked = new Set<string>();
  readonly #hosts = new Map<string, string>();
  readonly #moved = new Map<string, number>();
  readonly #unclean: string[] = [];
  #job: RecordedJob | undefined;

  /** @param cloud - not yet started */
  constructor(cloud: Cloud, options: RollingHostsOptions) {
    this.#cloud = cloud;
    this.#options = options;
    this.#random = randomNumbers(options.seed);
    this.#watch = new RecordWatch(cloud.records);
    cloud.records.events.on('instance', (instance) => this.#saw(instance));
  }

  /** Resolves when the guests run that are there before. */
  async boot(): Promise<void> {
    const { guests, users } = this.#options;
    const user = async (): Promise<void> => {
      while (this.counts.boots < guests) {
        await this.#boot();
        this.#options.onProgress?.({ phase: 'booted', done: this.#guests.length, of: guests });
      }
    };
    await Promise.all(Array.from({ length: users }, user));
  }

  /** Every host drains once, as at SIGTERM, and starts again. Resolves when all serve and the users have their answers. */
  async roll(atOnce: number): Promise<void> {
    const over = new AbortController();
    const users = Array.from({ length: this.#options.users }, () => this.#use(over.signal));
    const waiting = [...this.#cloud.hosts.values()];
    const total = waiting.length;
    let done = 0;
    const roller = async (): Promise<void> => {
      for (let host = waiting.shift(); host; host = waiting.shift()) {
        await this.#restart(host);
        done += 1;
        this.#options.onProgress?.({ phase: 'rolled', done, of: total });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, roller));
    over.abort();
    await Promise.all(users);
    await this.#quiet();
  }

  /** What is not as it must be now: nothing, if nothing is lost and nothing was done twice. */
  async problems(): Promise<readonly string[]> {
    const { records, hypervisors } = this.#cloud;
    const [instances, migrations] = await Promise.all([
      records.instances.find({}),
      records.migrations.find({}),
    ]);
    this.counts.completed = migrations.filter((one) => one.get('status') === 'completed').length;
    const { boots, moves, refused } = this.counts;
    return [
      ...this.#unclean,
      ...(instances.length === boots ? [] : [`${instances.length} guests of ${boots} boots`]),
      ...instances.flatMap((one) => placeProblems(this.#cloud, one)),
      ...migrations
        .filter((one) => !ENDS.has(one.get('status')))
        .map((one) => `${textOf(one)} has not ended`),
      ...(migrations.length <= moves - refused
        ? []
        : [`${migrations.length} migrations, of ${moves} asked for`]),
      ...this.#moveProblems(migrations),
      ...(await allocationProblems(this.#cloud)),
      ...hypervisors.expected().map(({ host, uuid }) => `${host} still expects ${uuid}`),
    ];
  }

  async #use(over: AbortSignal): Promise<void> {
    for (let number = 1; !over.aborted; number += 1) {
      if (number % BOOTS_EVERY === 0) await this.#boot();
      else await this.#move();
    }
  }

  async #boot(): Promise<void> {
    this.counts.boots += 1;
    this.#job ??= await RecordedJob.read({ freshIds: true });
    const request = this.#job.bootRequest(this.counts.boots, '');
    request.requestSpec.update({ force_hosts: null }); // the scheduler has the choice
    const uuid = request.instance.get('uuid');
    await this.#cloud.servers.boot(this.#job.context, request);
    await this.#watch.instance(uuid, (one) => one.get('task_state') === null, { timeoutMs: STUCK_MS });
    this.#guests.push(uuid);
  }

  async #move(): Promise<void> {
    const uuid = this.#pick(this.#guests.filter((one) => !this.#asked.has(one)));
    if (uuid === undefined) throw new RangeError('There must be more guests than users');
    const to = this.#random() < 1 / 3 ? null : this.#otherHost(uuid);
    this.#asked.add(uuid);
    this.counts.moves += 1;
    try {
      await this.#cloud.servers.liveMigrate({}, uuid, to);
      await this.#watch.instance(uuid, (one) => one.get('task_state') === null, { timeoutMs: STUCK_MS });
    } catch (error) {
      if (!(error instanceof HostDownError || error instanceof UnexpectedStateError)) throw error;
      this.counts.refused += 1;
    } finally {
      this.#asked.delete(uuid);
    }
  }

  async #restart(host: ComputeHost): Promise<void> {
    const { newRequestServer, opsServer } = host.process;
    const { code, report } = await host.terminate();
    this.drains.push(report.durationMs);
    this.#unclean.push(...drainProblems(host.name, code, report));
    for (const server of opsServer ? [newRequestServer, opsServer] : [newRequestServer]) {
      const { state, running, waiting } = server;
      if (state !== 'drained' || running + waiting > 0)
        this.#unclean.push(`${server.target.topic ?? ''} of ${host.name} is ${state} with requests`);
    }
    await host.start();
  }

  /** Resolves when nothing is under way on any host. */
  async #quiet(): Promise<void> {
    const hosts = [...this.#cloud.hosts.values()];
    await Promise.all(hosts.map(({ process }) => process.service.registry.whenIdle()));
  }

  /** A guest has come to another host as often as a migration of it was completed, and is where the last one led. */
  #moveProblems(migrations: readonly Migration[]): readonly string[] {
    const completed = migrations.filter((one) => one.get('status') === 'completed');
    return this.#guests.flatMap((uuid) => {
      const its = completed.filter((one) => one.get('instance_uuid') === uuid);
      const moved = this.#moved.get(uuid) ?? 0;
      const last = its.at(-1)?.get('dest_compute');
      return [
        ...(moved === its.length ? [] : [`${uuid} has moved ${moved} times in ${its.length} migrations`]),
        ...(last === undefined || last === this.#hosts.get(uuid) ? [] : [`${uuid} is not at ${last}`]),
      ];
    });
  }

  #saw(instance: Instance): void {
    const uuid = instance.get('uuid');
    const host = instance.find('host');
    const before = this.#hosts.get(uuid);
    if (typeof host !== 'string' || host === before) return;
    if (before !== undefined) this.#moved.set(uuid, (this.#moved.get(uuid) ?? 0) + 1);
    this.#hosts.set(uuid, host);
  }

  #otherHost(uuid: string): string | null {
    const from = this.#hosts.get(uuid);
    return this.#pick([...this.#cloud.hosts.keys()].filter((host) => host !== from)) ?? null;
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }
}

function drainProblems(host: string, code: number, report: DrainReport): readonly string[] {
  return [
    ...(code === 0 ? [] : [`${host} has ended with exit code ${code} (${report.outcome})`]),
    ...report.unfinished.map(({ name }) => `${host} left ${name}`),
    ...report.problems.map((problem) => `${host}: ${problem}`),
  ];
}

function textOf(migration: Migration): string {
  return `the migration of ${migration.get('instance_uuid')}, ${migration.get('status')}`;
}
