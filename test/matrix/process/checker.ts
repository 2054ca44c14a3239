import type { Migration } from '@ebbgate/compute';
import { isFinal } from '#compute/objects/states.js';
import { HOST_NAMES, type HostName, type MatrixCloud } from './matrix-cloud.js';
import { type Sight, sightOf, stateOf } from './sight.js';

/** What is left out, as it is dead. */
export interface CheckOptions {
  readonly dead?: HostName | undefined;
}

/**
 * What is wrong with the database, the guests of all hosts, the broker and the hosts' tasks, when what was asked of one
 * instance has come to an end, and nothing else is asked for; nothing, if all is well.
 */
export async function problemsOf(
  cloud: MatrixCloud,
  uuid: string,
  options: CheckOptions = {},
): Promise<readonly string[]> {
  const seen = sightProblems(await sightOf(cloud, uuid), options);
  return [...seen, ...cloud.died, ...(await requestProblems(cloud, options))];
}

/** What is wrong with the records of one instance and its guests. */
export function sightProblems(sight: Sight, options: CheckOptions = {}): readonly string[] {
  return [...guestProblems(sight, options), ...recordProblems(sight), ...allocationProblems(sight, options)];
}

/** Exactly one copy of the guest is there, where it is recorded; nothing prepared or kept is left elsewhere. */
function guestProblems(sight: Sight, { dead }: CheckOptions): readonly string[] {
  const { vm, host, guests, kept, expected, ports } = sight;
  const present = guests.filter((one) => !one.startsWith(`${String(dead)}:`));
  const wanted = wantedGuests(sight, present);
  const keeps = vm === 'resized' ? 1 : 0;
  const bound = ports.join();
  return [
    ...(present.join() === wanted ? [] : [`its guests are ${present.join()}, and not ${wanted}`]),
    ...(kept.length === keeps ? [] : [`of what may be taken back ${kept.join()} keeps something`]),
    ...(expected.length > 0 ? [`${expected.join()} has prepared something for it`] : []),
    ...(bound === String(host) || (isGone(sight) && bound === '')
      ? []
      : [`its ports belong to ${bound || 'nobody'}, and it is at ${String(host)}`]),
  ];
}

/** After an ERROR there may be a guest, in whichever state, where it is recorded, and nowhere else. */
function wantedGuests({ vm, host }: Sight, present: readonly string[]): string {
  if (vm === 'deleted') return '';
  if (vm === 'error') return present.filter((one) => one.startsWith(`${String(host)}:`)).join();
  return `${String(host)}:${vm === 'stopped' ? 'shutdown' : 'running'}`;
}

/** It was deleted, or never made. */
function isGone({ vm, guests }: Sight): boolean {
  return vm === 'deleted' || (vm === 'error' && guests.length === 0);
}

/** Nothing is being done to it, no migration is half-way, none was done twice, and an ERROR says why. */
function recordProblems(sight: Sight): readonly string[] {
  const { vm, task, migrations, instance } = sight;
  const isWaiting = (one: Migration): boolean => vm === 'resized' && one.get('status') === 'finished';
  const open = migrations.filter((one) => !isFinal(one.get('status')) && !isWaiting(one));
  const good = migrations.filter((one) => !['error', 'failed', 'cancelled'].includes(one.get('status')));
  return [
    ...(task === null ? [] : [`its task is ${task}`]),
    ...(vm === 'building' ? ['it is being built'] : []),
    ...open.map((one) => `a migration is ${one.get('status')}`),
    ...(good.length > 1 ? [`it was moved ${good.length} times`] : []),
    ...(vm === 'error' && !instance.find('fault') ? [`it is ${stateOf(sight)} without a fault`] : []),
  ];
}

/** It has what it needs where it is, the other end of a resize what it had; nobody has anything besides. */
function allocationProblems(sight: Sight, { dead }: CheckOptions): readonly string[] {
  const { vm, host, allocations, instance, migrations } = sight;
  const own = `instance@${String(host)}:${instance.get('memory_mb')}`;
  const old = `migration@${String(migrations.at(-1)?.get('source_compute'))}:`;
  const isOwed = (one: string): boolean =>
    (one === own && vm !== 'deleted') ||
    (one.startsWith(old) && vm === 'resized') ||
    one.startsWith(`instance@${String(dead)}:`);
  const leaked = allocations.filter((one) => !isOwed(one));
  return [
    ...(isGone(sight) || allocations.includes(own) ? [] : [`${own} is not allocated`]),
    ...(leaked.length > 0 ? [`${leaked.join()} is allocated`] : []),
  ];
}

/** No request waits, in a queue, in a journal or as a task, for somebody who runs. */
async function requestProblems(cloud: MatrixCloud, { dead }: CheckOptions): Promise<readonly string[]> {
  const waiting = (await cloud.queues()).filter(
    ({ name, messages }) => messages > 0 && !name.endsWith(`.${String(dead)}`),
  );
  const journals = await cloud.openJournals();
  const running = HOST_NAMES.filter((host) => cloud.isRunning(host));
  const tasks = running.flatMap((host) => cloud.tasksOf(host).map((task) => `${host} has the task ${task}`));
  return [
    ...waiting.map(({ name, messages }) => `${messages} messages wait in ${name}`),
    ...journals.map((name) => `${name} has accepted what is not done`),
    ...tasks,
  ];
}
