import { unfence } from '#compute/api/fencing.js';
import { RecordWatch } from '#compute/db/record-watch.js';
import { Cloud, type CloudOptions } from '#compute/main-job/cloud.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { silentLogger } from '@ebbgate/core';
import type { DrainReport } from '@ebbgate/service';
import {
  type ArgsOf,
  ComputeApi,
  ConductorApi,
  type ConductorMethods,
  type FakeVirtDriver,
  type Instance,
  type Migration,
  type MigrationStatus,
  RPC_TOPIC,
} from '@ebbgate/compute';

export const SOURCE = 'compute-a';
export const DEST = 'compute-b';
const LIMIT = { timeoutMs: 4000 };
let clouds = 0;

/** A request that arrived at a host, as `method @ topic.host`. */
export type Arrived = string;

/** A drain under way. */
export interface Termination {
  readonly ended: Promise<{ readonly code: number; readonly report: DrainReport }>;
  readonly hasEnded: () => boolean;
}

/** A cloud for one test, with the words that tests need. */
export class TestCloud {
  readonly cloud: Cloud;
  readonly watch: RecordWatch;
  readonly recorded: RecordedJob;
  readonly arrived: Arrived[] = [];
  /** What the migrations went through, in order, without repetitions. */
  readonly statuses: MigrationStatus[] = [];
  /** What the instances went through, as `vm/task`, without repetitions. */
  readonly states: string[] = [];
  readonly #reports: string[] = [];
  #number = 0;

  constructor(cloud: Cloud, recorded: RecordedJob) {
    this.cloud = cloud;
    this.recorded = recorded;
    this.watch = new RecordWatch(cloud.records);
    for (const host of cloud.hosts.values()) {
      host.events.on('request', ({ topic, method }) => {
        this.arrived.push(`${method} @ ${topic}.${host.name}`);
      });
    }
    cloud.records.events.on('service', ({ host }) => this.#reports.push(host));
    cloud.records.events.on('migration', (migration) => {
      push(this.statuses, migration.get('status'));
    });
    cloud.records.events.on('instance', (instance) => {
      push(this.states, `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}`);
    });
  }

  virt(host: string): FakeVirtDriver {
    const virt = this.cloud.virts.get(host);
    if (!virt) throw new RangeError(`no host ${host}`);
    return virt;
  }

  /** How often the record of a service was written. */
  reports(host: string): number {
    return this.#reports.filter((one) => one === host).length;
  }

  /** Asks for an instance; resolves with its uuid once the request is out. */
  async boot(host: string = SOURCE, before: (uuid: string) => void = () => undefined): Promise<string> {
    this.#number += 1;
    const request = this.recorded.bootRequest(this.#number, host);
    before(request.instance.get('uuid'));
    return (await this.cloud.servers.boot(this.recorded.context, request)).get('uuid');
  }

  async bootActive(host: string = SOURCE): Promise<string> {
    const uuid = await this.boot(host);
    await this.becomes(uuid, 'active/-');
    return uuid;
  }

  async migrate(uuid: string, dest: string | null = DEST): Promise<void> {
    await this.cloud.servers.liveMigrate(this.recorded.context, uuid, dest);
  }

  /** Resolves when the instance is in a state, given as `vm/task`. */
  becomes(uuid: string, state: string): Promise<Instance> {
    const is = (one: Instance): boolean => `${one.get('vm_state')}/${one.get('task_state') ?? '-'}` === state;
    return this.watch.instance(uuid, is, LIMIT);
  }

  migrationBecomes(uuid: string, status: MigrationStatus): Promise<Migration> {
    return this.watch.migration(uuid, (one) => one.get('status') === status, LIMIT);
  }

  /** The operations that run on a host, by name; requests that are served in passing are left out. */
  tasks(host: string): readonly string[] {
    const tasks = this.cloud.host(host).process.service.registry.snapshot();
    return tasks.filter(({ kind }) => kind !== 'handler').map(({ name }) => name);
  }

  /** An API whose follow-ups go to this topic. */
  apiOn(topic: string): ComputeApi {
    const how = topic === RPC_TOPIC ? { versionCap: '6.4' } : { opsTopic: topic };
    return new ComputeApi(this.cloud.computeApi.transport, how);
  }

  /** Resolves when nothing runs on a host. */
  async idle(host: string): Promise<void> {
    await this.cloud.host(host).process.service.registry.whenIdle();
  }

  /** Ends a host at once, as the death of its process does; an operator says that it is dead. */
  async crash(host: string): Promise<void> {
    const { process } = this.cloud.host(host);
    process.terminate('SIGTERM');
    process.terminate('SIGINT'); // during a drain: at once
    await process.done;
    await this.cloud.records.services.update('compute', host, { forcedDown: true });
  }

  /** Starts a host that was forced down, and calls it up again; resolves when it serves. */
  async revive(host: string): Promise<void> {
    await this.cloud.host(host).start();
    await this.callUp(host);
  }

  /** Says of a host that runs that it is not forced down any more; resolves when it serves. */
  async callUp(host: string): Promise<void> {
    const { process } = this.cloud.host(host);
    await unfence(this.cloud.records, host);
    await process.reload();
    await process.service.start();
  }

  /** Resolves when a host that drains has handed a request on, the next one from now. */
  handedOn(host: string): Promise<void> {
    return new Promise((resolve) => {
      this.cloud.host(host).process.service.registry.events.on('ended', ({ task, failed }) => {
        if (task.name.startsWith('hand_on:') && !failed) resolve();
      });
    });
  }

  /** Sends a rebuild to the conductor, as the API does, with some arguments replaced. */
  async askConductorToRebuild(
    instance: Instance,
    replaced: Partial<ArgsOf<ConductorMethods['rebuild_instance']>>,
  ): Promise<void> {
    await new ConductorApi(this.cloud.computeApi.transport).cast({}, 'rebuild_instance', {
      instance,
      orig_image_ref: null,
      image_ref: null,
      injected_files: [],
      new_pass: null,
      orig_sys_metadata: null,
      bdms: null,
      recreate: false,
      on_shared_storage: null,
      preserve_ephemeral: false,
      host: null,
      request_spec: null,
      reimage_boot_volume: false,
      target_state: null,
      ...replaced,
    });
  }

  /** What is allocated to an instance, or a migration: the hosts. */
  async allocatedOn(consumer: string): Promise<readonly string[]> {
    const found = await this.cloud.records.allocations.find({ consumer });
    return found.map(({ host }) => host).sort();
  }

  /** The records say, of an instance, `vm/task@host`. */
  async stateOf(uuid: string): Promise<string> {
    const one = await this.cloud.records.instances.get(uuid);
    return `${one.get('vm_state')}/${one.get('task_state') ?? '-'}@${String(one.find('host'))}`;
  }

  /** Sends SIGTERM; resolves when new requests are refused, with a promise of the end. */
  async terminate(host: string): Promise<Termination> {
    const one = this.cloud.host(host);
    const stopped = new Promise<void>((resolve) => {
      one.process.service.events.on('step', ({ phase, name }) => {
        if (phase === 'finished' && name === 'stop-new-request') resolve();
      });
    });
    let over = false;
    const ended = one.terminate().finally(() => {
      over = true;
    });
    await stopped;
    return { ended, hasEnded: () => over };
  }
}

/** The code of what something rejects with; undefined when it does not. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return (error as { code?: unknown } | undefined)?.code;
}

function push<T>(list: T[], value: T): void {
  if (list.at(-1) !== value) list.push(value);
}

/** Runs `work` on two hosts, a conductor and a broker of its own, and ends them all. */
export async function withCloud(
  options: Partial<CloudOptions>,
  work: (test: TestCloud) => Promise<void>,
): Promise<void> {
  clouds += 1;
  const cloud = new Cloud({
    transport: `memory://compute-${clouds}/`,
    hosts: [SOURCE, DEST],
    bootMs: 0,
    migrationMs: 0,
    opsServer: true,
    tasksMs: 20_000,
    recheckMs: 20,
    logger: silentLogger,
    ...options,
  });
  const test = new TestCloud(cloud, await RecordedJob.read());
  await cloud.start();
  try {
    await work(test);
  } finally {
    await cloud.stop();
  }
}
