import type { Instance, Migration } from '@ebbgate/compute';
import { HOST_NAMES, type MatrixCloud } from './matrix-cloud.js';

/** Where everything of one instance is, as it is recorded and as it is. */
export interface Sight {
  readonly instance: Instance;
  readonly vm: string;
  readonly task: string | null;
  readonly host: string | null;
  /** Oldest first. */
  readonly migrations: readonly Migration[];
  /** Status of the last migration; `-`: there is none. */
  readonly status: string;
  /** As `host:state`. */
  readonly guests: readonly string[];
  /** Hosts that keep what has left and may be taken back. */
  readonly kept: readonly string[];
  /** Hosts on which something is prepared for a guest that has not come. */
  readonly expected: readonly string[];
  /** The host that its ports belong to, and those that they are to come to. */
  readonly ports: readonly string[];
  /** Of everybody, as `instance@host:MiB` or `migration@host:MiB`; others as `CONSUMER@host:MiB`. */
  readonly allocations: readonly string[];
  /** Ids of all that were made. */
  readonly images: readonly string[];
}

export async function sightOf(cloud: MatrixCloud, uuid: string): Promise<Sight> {
  const { records, machines } = cloud;
  const instance = await records.instances.get(uuid);
  const migrations = await records.migrations.find({ instance_uuid: uuid });
  const consumers = new Map(migrations.map((one) => [one.get('uuid'), 'migration'])).set(uuid, 'instance');
  const allocations = await records.allocations.find({});
  const network = await records.networks.read(uuid);
  return {
    instance,
    vm: instance.get('vm_state'),
    task: instance.get('task_state'),
    host: instance.find('host') ?? null,
    migrations,
    status: migrations.at(-1)?.get('status') ?? '-',
    guests: machines.locate(uuid).map((host) => `${host}:${String(machines.storeOf(host).state(uuid))}`),
    kept: HOST_NAMES.filter((host) => machines.storeOf(host).kept().includes(uuid)),
    expected: HOST_NAMES.filter((host) => machines.storeOf(host).expected().includes(uuid)),
    ports: [network?.['host'], network?.['also']].flat().filter((host) => typeof host === 'string'),
    allocations: allocations.map(
      ({ consumer, host, resources }) =>
        `${consumers.get(consumer) ?? consumer}@${host}:${resources.memoryMb}`,
    ),
    images: machines.images.list(),
  };
}

/** `vm/task@host`, and the status of the last migration if there is one. */
export function stateOf({ vm, task, host, status }: Sight): string {
  return `${vm}/${task ?? '-'}@${host ?? '-'}${status === '-' ? '' : ` ${status}`}`;
}
