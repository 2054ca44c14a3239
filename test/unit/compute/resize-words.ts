import { Flavor, type Instance, type Migration, type Resources } from '@ebbgate/compute';
import { eventually } from '../../support/rigs/deadline.js';
import type { TestCloud } from './test-cloud.js';

export const THIRD = 'compute-c';

/** The size that instances are given here; the recorded one has 512 MiB. */
export const BIGGER: Flavor = Flavor.create({
  id: 2,
  name: 'm1.small',
  memory_mb: 1024,
  vcpus: 1,
  root_gb: 2,
  ephemeral_gb: 0,
  flavorid: '2',
  swap: 0,
  rxtx_factor: 1,
  vcpu_weight: 0,
  disabled: false,
  is_public: true,
  extra_specs: {},
  description: null,
});

/** All that a move changes, so that a test can say what is left of one. */
export interface Outcome {
  /** `vm/task`. */
  readonly state: string;
  readonly host: string | null;
  /** Of the newest migration. */
  readonly status: string;
  /** Guests on all hosts, as `host:state`. */
  readonly guests: readonly string[];
  /** Hosts that keep something of a guest that has left. */
  readonly kept: readonly string[];
  /** Hosts to which disks have come that are not used. */
  readonly disks: readonly string[];
  readonly boundTo: string | null;
  /** As `consumer@host:MiB`. */
  readonly allocations: readonly string[];
  /** MiB. */
  readonly size: number;
}

export async function outcomeOf(test: TestCloud, uuid: string): Promise<Outcome> {
  const { records, networking, hosts } = test.cloud;
  const instance = await records.instances.get(uuid);
  const migrations = await records.migrations.find({ instance_uuid: uuid });
  const names = [...hosts.keys()];
  const allocations = await records.allocations.find({});
  const consumers = new Map(migrations.map((one) => [one.get('uuid'), 'migration'])).set(uuid, 'instance');
  return {
    state: stateOf(instance),
    host: instance.get('host'),
    status: migrations.at(-1)?.get('status') ?? '-',
    guests: names.flatMap((name) => {
      const state = test.virt(name).machine.state(uuid);
      return state === undefined ? [] : [`${name}:${state}`];
    }),
    kept: names.filter((name) => test.virt(name).kept.includes(uuid)),
    disks: names.filter((name) => test.virt(name).expected.includes(uuid)),
    boundTo: networking.boundTo(uuid),
    allocations: allocations
      .filter(({ consumer }) => consumers.has(consumer))
      .map(
        ({ consumer, host, resources }) => `${consumers.get(consumer) ?? ''}@${host}:${resources.memoryMb}`,
      )
      .sort(),
    size: instance.get('memory_mb'),
  };
}

export function stateOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}`;
}

/** Resolves when nothing runs on any host. */
export async function allIdle(test: TestCloud): Promise<void> {
  for (const name of test.cloud.hosts.keys()) await test.idle(name);
}

/** Resolves when a source that drains does nothing but wait for a move. */
export async function waitsForItsPart(test: TestCloud, source: string): Promise<void> {
  const isAll = (): boolean => test.tasks(source).join() === 'cold_move_at_source';
  await eventually(`a move that ${source} waits for`, 2000, isAll);
}

/** What an instance was before it was moved from `host`, and is again when that was taken back. */
export function untouched(host: string, status: string): Outcome {
  return {
    state: 'active/-',
    host,
    status,
    guests: [`${host}:running`],
    kept: [],
    disks: [],
    boundTo: host,
    allocations: [`instance@${host}:512`],
    size: 512,
  };
}

/** What a resized instance is, until somebody says whether it is to stay so. */
export function resized(source: string, dest: string, size: number = 1024): Outcome {
  return {
    state: 'resized/-',
    host: dest,
    status: 'finished',
    guests: [`${dest}:running`],
    kept: [source],
    disks: [],
    boundTo: dest,
    allocations: [`instance@${dest}:${size}`, `migration@${source}:512`],
    size,
  };
}

/** Boots an instance and gives it another size. */
export async function bootResized(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
  await test.becomes(uuid, 'resized/-');
  await allIdle(test);
  return uuid;
}

/** What happens when the process of a host is killed. */
export async function kill(test: TestCloud, host: string): Promise<void> {
  const { process } = test.cloud.host(host);
  process.terminate('SIGTERM');
  process.terminate('SIGINT'); // during a drain: at once
  await process.done;
}

/** Machines of which the scheduler likes one best. */
export function preferring(best: string): (host: string) => Resources {
  return (host) => ({ vcpus: 16, memoryMb: host === best ? 65_536 : 8192, diskGb: 100 });
}

/** No message of that method leaves its sender. */
export function failing(method: string): (message: { readonly method: string }) => void {
  return (message) => {
    if (message.method === method) throw new Error(`${method} could not be sent, as ordered`);
  };
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

/** The newest migration of an instance. */
export async function migrationOf(test: TestCloud, uuid: string): Promise<Migration> {
  const migration = (await test.cloud.records.migrations.find({ instance_uuid: uuid })).at(-1);
  if (!migration) throw new RangeError(`no migration of ${uuid}`);
  return migration;
}
