import type { Cloud } from '#compute/main-job/cloud.js';
import { type Instance, resourcesOf, type Resources } from '@ebbgate/compute';

/** `vm/task` of an instance. */
export function stateOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${String(instance.get('task_state'))}`;
}

/** What is wrong with one guest of a cloud in which nothing is under way: it runs on one host, the recorded one. */
export function placeProblems({ hypervisors, networking }: Cloud, instance: Instance): readonly string[] {
  const uuid = instance.get('uuid');
  const host = instance.find('host');
  const is = (what: string, actual: unknown, right: unknown): string[] =>
    actual === right ? [] : [`${uuid}: ${what} is ${String(actual)} and not ${String(right)}`];
  return [
    ...is('the state', stateOf(instance), 'active/null'),
    ...is('where the guest is', hypervisors.locate(uuid).join(' and '), host),
    ...is('where the ports are bound', networking.boundTo(uuid), host),
  ];
}

/** One allocation for each guest, of its size, where it is; none of a migration. */
export async function allocationProblems({ records }: Cloud): Promise<readonly string[]> {
  const [all, instances] = await Promise.all([records.allocations.find({}), records.instances.find({})]);
  const right = new Set(
    instances.map((one) =>
      allocationText(one.get('uuid'), one.find('host') ?? '', resourcesOf(one.get('flavor'))),
    ),
  );
  const actual = new Set(
    all.map(({ consumer, host, resources }) => allocationText(consumer, host, resources)),
  );
  const missing = [...right].filter((one) => !actual.has(one)).map((one) => `not allocated: ${one}`);
  const left = [...actual].filter((one) => !right.has(one)).map((one) => `left allocated: ${one}`);
  return [...missing, ...left];
}

function allocationText(consumer: string, host: string, { vcpus, memoryMb, diskGb }: Resources): string {
  return `${consumer} on ${host}: ${vcpus} CPUs, ${memoryMb} MiB, ${diskGb} GiB`;
}
