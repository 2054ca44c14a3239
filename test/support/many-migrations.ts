import type { Cloud } from '#compute/main-job/cloud.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import type { Instance, Migration } from '@ebbgate/compute';
import { allocationProblems, stateOf } from './cloud-checks.js';
import { randomNumbers } from './rigs/random-faults.js';

/** What is asked for. */
export interface ManyMigrationsOptions {
  readonly count: number;
  /** Decides where the guests begin, where they are to go, and in which order that is asked for. */
  readonly seed: number;
  /** How many boots are asked for before one of them has ended. */
  readonly bootsAtOnce?: number;
  /** Told whenever another one has ended. */
  readonly onProgress?: (progress: Progress) => void;
}

/** How far it is. */
export interface Progress {
  readonly phase: 'booted' | 'migrated';
  readonly done: number;
  readonly of: number;
}

/** A migration that was asked for. */
interface Asked {
  readonly uuid: string;
  readonly from: string;
  /** Null: the scheduler was to choose. */
  readonly to: string | null;
}

/** How many of something have been seen, by name. */
class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

/**
 * Guests on all hosts of a cloud, and a live migration of each, all asked for at once: every third one to wherever the
 * scheduler says, the others to a host by name. Watches the records meanwhile, and tells afterwards what is not as it must
 * be.
 */
export class ManyMigrations {
  readonly #cloud: Cloud;
  readonly #options: ManyMigrationsOptions;
  readonly #random: () => number;
  readonly #instances = new Map<string, Instance>();
  readonly #migrations = new Map<string, Migration>();
  /** By the uuid of an instance: how often its record has come to another host. */
  readonly #moves = new Tally();
  /** By the uuid of a migration and the status: how often it has come into it. */
  readonly #statuses = new Tally();
  /** By host and method. */
  readonly #arrived = new Tally();
  readonly #asked: Asked[] = [];
  readonly #exitCodes: string[] = [];
  #onChange: () => void = () => undefined;

  /** @param cloud - not yet started */
  constructor(cloud: Cloud, options: ManyMigrationsOptions) {
    this.#cloud = cloud;
    this.#options = options;
    this.#random = randomNumbers(options.seed);
    cloud.records.events.on('instance', (instance) => this.#sawInstance(instance));
    cloud.records.events.on('migration', (migration) => this.#sawMigration(migration));
    for (const host of cloud.hosts.values()) {
      host.events.on('request', ({ method }) => {
        this.#arrived.add(method);
      });
      host.events.on('exited', ({ code }) => {
        if (code !== 0) this.#exitCodes.push(`${host.name} has ended with exit code ${String(code)}`);
      });
    }
  }

  /** Resolves when all guests run. */
  async boot(): Promise<void> {
    const { count, bootsAtOnce = 50 } = this.#options;
    const job = await RecordedJob.read({ freshIds: true });
    const hosts = this.#hosts();
    for (let begun = 0; begun < count; begun += bootsAtOnce) {
      const until = Math.min(count, begun + bootsAtOnce);
      for (let number = begun; number < until; number += 1) {
        const request = job.bootRequest(number + 1, hosts[number % hosts.length] ?? '');
        await this.#cloud.servers.boot(job.context, request);
      }
      await this.#until(
        () =>
          this.#tell(
            'booted',
            this.#count((one) => stateOf(one) === 'active/null'),
          ) >= until,
      );
    }
  }

  /** Asks for a migration of every guest of which nobody has asked yet; resolves when the requests are out. @param most - of so many */
  async ask(most: number = Infinity): Promise<void> {
    const known = new Set(this.#asked.map(({ uuid }) => uuid));
    const rest = [...this.#instances.keys()].filter((uuid) => !known.has(uuid));
    for (const uuid of this.#shuffled(rest).slice(0, most)) await this.#ask(uuid);
  }

  /** Asks again for those that stayed where they were; resolves with how many those are. */
  async askAgain(): Promise<number> {
    const stayed = [...this.#instances.keys()].filter((uuid) => !this.#hasMoved(uuid));
    for (const uuid of stayed) await this.#ask(uuid);
    return stayed.length;
  }

  /** Resolves when so many migrations have ended well. */
  async whenCompleted(count: number): Promise<void> {
    await this.#until(() => this.#completed() >= count);
  }

  /** Resolves when every migration that was asked for has ended, well or not, and nothing is being done to any guest. */
  async whenOver(): Promise<void> {
    await this.#until(
      () =>
        this.#tell('migrated', this.#completed()) >= 0 &&
        this.#migrations.size === this.#asked.length &&
        [...this.#migrations.values()].every((one) => ENDS.has(one.get('status'))) &&
        this.#count((one) => one.get('task_state') === null) === this.#instances.size,
    );
    await Promise.all(
      [...this.#cloud.hosts.values()].map(({ process }) => process.service.registry.whenIdle()),
    );
  }

  /** How many have ended well. */
  get completed(): number {
    return this.#completed();
  }

  /** What is not as it must be when all is over: nothing, if nothing is lost and nothing was done twice. */
  async problems(): Promise<readonly string[]> {
    const found = await Promise.all([
      ...[...this.#instances.keys()].map((uuid) => this.#problemsOf(uuid)),
      allocationProblems(this.#cloud),
    ]);
    return [
      ...found.flat(),
      ...this.#countProblems(),
      ...this.#exitCodes,
      ...this.#cloud.hypervisors.expected().map(({ host, uuid }) => `${host} still expects ${uuid}`),
    ];
  }

  async #problemsOf(uuid: string): Promise<readonly string[]> {
    const { records, hypervisors, networking } = this.#cloud;
    const instance = await records.instances.get(uuid);
    const its = await records.migrations.find({ instance_uuid: uuid });
    const completed = its.filter((one) => one.get('status') === 'completed');
    const asked = this.#asked.filter((one) => one.uuid === uuid);
    const host = completed.at(-1)?.get('dest_compute') ?? asked[0]?.from ?? '';
    const wished = asked[its.findIndex((one) => one.get('status') === 'completed')]?.to ?? host;
    const is = (what: string, actual: unknown, right: unknown): string[] =>
      actual === right ? [] : [`${uuid}: ${what} is ${String(actual)} and not ${String(right)}`];
    return [
      ...is('the state', stateOf(instance), 'active/null'),
      ...is('the recorded host', instance.get('host'), host),
      ...is('the host asked for', wished, host),
      ...is('where the guest is', hypervisors.locate(uuid).join(' and '), host),
      ...is('where the ports are bound', networking.boundTo(uuid), host),
      ...is('the number of migrations', its.length, asked.length),
      ...is('how often it has moved', this.#moves.of(uuid), completed.length),
    ];
  }

  /** Every migration came to its source once, left it at most once, and was finished at most once at its destination. */
  #countProblems(): readonly string[] {
    const handed = [...this.#migrations.keys()].filter((uuid) => this.#statuses.of(`${uuid} queued`) > 0);
    const doubled = [...this.#migrations.keys()].flatMap((uuid) =>
      ['queued', 'running', 'completed']
        .filter((status) => this.#statuses.of(`${uuid} ${status}`) > 1)
        .map((status) => `migration ${uuid} was ${status} more than once`),
    );
    const arrivals = this.#arrived.of('live_migration');
    const finished = this.#arrived.of('post_live_migration_at_destination');
    return [
      ...doubled,
      ...(arrivals === handed.length ? [] : [`${arrivals} requests began ${handed.length} migrations`]),
      ...(finished === this.#completed()
        ? []
        : [`${finished} requests ended ${this.#completed()} migrations`]),
    ];
  }

  async #ask(uuid: string): Promise<void> {
    const from = this.#instances.get(uuid)?.get('host') ?? '';
    const others = this.#hosts().filter((host) => host !== from);
    const to = this.#random() < 1 / 3 ? null : (others[Math.floor(this.#random() * others.length)] ?? null);
    this.#asked.push({ uuid, from, to });
    await this.#cloud.servers.liveMigrate({}, uuid, to);
  }

  #hosts(): readonly string[] {
    return [...this.#cloud.hosts.keys()];
  }

  #hasMoved(uuid: string): boolean {
    return this.#moves.of(uuid) > 0;
  }

  #completed(): number {
    return [...this.#migrations.values()].filter((one) => one.get('status') === 'completed').length;
  }

  #count(matches: (instance: Instance) => boolean): number {
    return [...this.#instances.values()].filter(matches).length;
  }

  #tell(phase: Progress['phase'], done: number): number {
    this.#options.onProgress?.({ phase, done, of: this.#options.count });
    return done;
  }

  #sawInstance(instance: Instance): void {
    const uuid = instance.get('uuid');
    const before = this.#instances.get(uuid)?.find('host') ?? null;
    if (before !== null && before !== instance.get('host')) this.#moves.add(uuid);
    this.#instances.set(uuid, instance);
    this.#onChange();
  }

  #sawMigration(migration: Migration): void {
    const uuid = migration.get('uuid');
    const status = migration.get('status');
    if (this.#migrations.get(uuid)?.get('status') !== status) this.#statuses.add(`${uuid} ${status}`);
    this.#migrations.set(uuid, migration);
    this.#onChange();
  }

  /** Asks after every turn in which a record has changed. */
  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      let asked = false;
      const look = (): void => {
        asked = false;
        if (!isSo()) return;
        this.#onChange = () => undefined;
        resolve();
      };
      this.#onChange = () => {
        if (asked) return;
        asked = true;
        setImmediate(look);
      };
      this.#onChange();
    });
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, at: this.#random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}

const ENDS: ReadonlySet<string> = new Set(['completed', 'failed', 'error', 'cancelled']);
