import type { MaybePromise, WaitOptions } from '@ebbgate/core';
import type { DrainReport } from '@ebbgate/service';
import { RecordWatch } from '../db/record-watch.js';
import { isFinal } from '../objects/states.js';
import type { JobCloud } from './job-cloud.js';
import type { JobOptions } from './job-options.js';
import type { Observer } from './observer.js';
import type { RecordedJob } from './recorded-job.js';

/** An instance that is to be on a host. */
export interface Placed {
  readonly uuid: string;
  readonly host: string;
}

/** The end of one run of a host. */
export interface Drained {
  readonly host: string;
  readonly code: number;
  readonly report: DrainReport;
}

/** What was begun, and what was seen: what the verdict is about. */
export interface Facts {
  /** Instances whose live migration had begun before SIGTERM, and where they go. */
  readonly migrating: readonly Placed[];
  /** Instances that were being built when SIGTERM came. */
  readonly building: readonly Placed[];
  /** Instances that were asked for afterwards, on a host that drained. */
  readonly queued: readonly Placed[];
  /** Of the queued ones: how they were when their host had exited. */
  readonly queuedAtExit: ReadonlyMap<string, string>;
  readonly drains: readonly Drained[];
}

/** At this part of the first migration SIGTERM comes; at the other, what the builds wait for. */
const TERMINATE_AT = 0.4;
const PLUG_AT = 0.7;
/** Longest wait for anything besides what the options say; no invariant depends on it. */
const PATIENCE_MS = 10_000;

/**
 * The main job: boots the recorded instance, moves it live, and terminates the source, the destination or both in the
 * middle, while another instance is being built there and a third one is asked for.
 */
export class Scenario {
  readonly #cloud: JobCloud;
  readonly #observer: Observer;
  readonly #recorded: RecordedJob;
  readonly #options: JobOptions;
  readonly #note: (text: string) => void;
  readonly #interrupted: AbortSignal;
  readonly #watch: RecordWatch;
  readonly #draining: readonly string[];
  #number = 0;

  /**
   * @param note - told before each step; what it throws ends the story
   * @param interrupted - with its abort nothing is waited for any more
   */
  constructor(
    cloud: JobCloud,
    observer: Observer,
    recorded: RecordedJob,
    options: JobOptions,
    note: (text: string) => void,
    interrupted: AbortSignal,
  ) {
    this.#cloud = cloud;
    this.#observer = observer;
    this.#recorded = recorded;
    this.#options = options;
    this.#note = note;
    this.#interrupted = interrupted;
    this.#watch = new RecordWatch(cloud.records);
    const { source, dest } = recorded;
    this.#draining = { source: [source], dest: [dest], both: [source, dest] }[options.drain];
  }

  async run(): Promise<Facts> {
    const { source, dest } = this.#recorded;
    const migrating = await this.#bootThoseThatMigrate(source, dest);
    const building = await this.#beginBuilds();
    await this.#beginMigrations(migrating, dest);
    const stopped = this.#draining.map((host) => this.#observer.newRequestServerStops(host));
    const drains = this.#terminate();
    await Promise.all(stopped);
    const queued = await this.#askForMore();
    await this.#plugInterfaces(migrating, building);
    const ended = await Promise.all(drains);
    const queuedAtExit = await this.#statesOf(queued);
    await this.#restart(queued);
    return { migrating, building, queued, queuedAtExit, drains: ended };
  }

  async #bootThoseThatMigrate(source: string, dest: string): Promise<readonly Placed[]> {
    const { instances } = this.#options;
    this.#note(
      `Booting ${instances === 1 ? 'the recorded instance' : `${instances} instances like the recorded one`} on ${source}`,
    );
    const uuids = await Promise.all(Array.from({ length: instances }, () => this.#boot(source)));
    await Promise.all(uuids.map((uuid) => this.#whenActive(uuid)));
    return uuids.map((uuid) => ({ uuid, host: dest }));
  }

  /** Their interfaces are not plugged until {@link #plugInterfaces}: so they are being built when SIGTERM comes. */
  async #beginBuilds(): Promise<readonly Placed[]> {
    const building: Placed[] = [];
    for (const host of this.#draining) {
      const uuid = await this.#boot(host, (instance) => this.#cloud.networking.hold(instance));
      await this.#watch.instance(
        uuid,
        (instance) => instance.get('task_state') === 'spawning',
        this.#limit(),
      );
      building.push({ uuid, host });
    }
    return building;
  }

  async #beginMigrations(migrating: readonly Placed[], dest: string): Promise<void> {
    this.#note(`Live migration to ${dest}, asked for through the conductor`);
    for (const { uuid } of migrating)
      await this.#cloud.servers.liveMigrate(this.#recorded.context, uuid, dest);
    await Promise.all(
      migrating.map(({ uuid }) =>
        this.#watch.migration(uuid, (one) => one.get('status') !== 'accepted', this.#limit()),
      ),
    );
    await this.#whenCopied(migrating, TERMINATE_AT);
  }

  #terminate(): Promise<Drained>[] {
    this.#note(`SIGTERM to ${this.#draining.join(' and ')}`);
    return this.#draining.map((host) => {
      const drained = this.#cloud
        .host(host)
        .terminate()
        .then((end) => ({ host, ...end }));
      drained.catch(() => undefined); // awaited when the rest of the story has been told
      return drained;
    });
  }

  async #askForMore(): Promise<readonly Placed[]> {
    return Promise.all(
      this.#draining.map(async (host) => {
        this.#note(`Asking for a new instance on ${host}`);
        const uuid = await this.#boot(host);
        return { uuid, host };
      }),
    );
  }

  async #plugInterfaces(migrating: readonly Placed[], building: readonly Placed[]): Promise<void> {
    await this.#whenCopied(migrating, PLUG_AT);
    for (const { uuid } of building) await this.#cloud.networking.release(uuid);
  }

  async #statesOf(queued: readonly Placed[]): Promise<ReadonlyMap<string, string>> {
    const instances = await Promise.all(queued.map(({ uuid }) => this.#cloud.records.instances.get(uuid)));
    return new Map(
      instances.map((one) => [one.get('uuid'), `${one.get('vm_state')}/${String(one.get('task_state'))}`]),
    );
  }

  async #restart(queued: readonly Placed[]): Promise<void> {
    for (const host of this.#draining) {
      this.#note(`Starting ${host} again`);
      await this.#cloud.host(host).start();
    }
    // One that never becomes active is for the verdict to tell.
    await Promise.allSettled(queued.map(({ uuid }) => this.#whenActive(uuid)));
  }

  async #boot(host: string, before: (uuid: string) => MaybePromise<void> = () => undefined): Promise<string> {
    this.#number += 1;
    const request = this.#recorded.bootRequest(this.#number, host);
    const uuid = request.instance.get('uuid');
    await before(uuid);
    await this.#cloud.servers.boot(this.#recorded.context, request);
    return uuid;
  }

  async #whenActive(uuid: string): Promise<void> {
    await this.#watch.instance(uuid, (instance) => instance.get('vm_state') === 'active', this.#limit());
  }

  /** Resolves when that part of some migration is copied, or all of them are over. */
  async #whenCopied(migrating: readonly Placed[], part: number): Promise<void> {
    const { migrationMs, instances } = this.#options;
    const limit = { timeoutMs: PATIENCE_MS + migrationMs * instances, signal: this.#interrupted };
    await Promise.race(
      migrating.map(({ uuid }) =>
        this.#watch.migration(
          uuid,
          (one) =>
            isFinal(one.get('status')) ||
            (one.find('memory_processed') ?? 0) >= part * (one.find('memory_total') ?? Infinity),
          limit,
        ),
      ),
    );
  }

  #limit(): WaitOptions {
    const { bootMs, instances } = this.#options;
    return { timeoutMs: PATIENCE_MS + bootMs * instances, signal: this.#interrupted };
  }
}
