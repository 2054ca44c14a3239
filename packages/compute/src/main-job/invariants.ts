import type { HostProcess } from '../compute/host-process.js';
import type { Instance } from '../objects/instance.js';
import type { Cloud } from './cloud.js';
import type { Check } from './job-events.js';
import type { Facts, Placed } from './scenario.js';

/** What was seen of the hosts. */
export interface Observed {
  /** All runs of all hosts. */
  readonly processes: readonly HostProcess[];
  readonly nameOf: (uuid: string) => string;
}

/**
 * What must hold when everything has ended: each operation that had begun is complete, and nothing is lost or left
 * over.
 */
export async function checkInvariants(
  cloud: Cloud,
  facts: Facts,
  { processes, nameOf: nameOfUuid }: Observed,
): Promise<readonly Check[]> {
  return [
    ...drainChecks(facts, nameOfUuid),
    await migrationCheck(cloud, facts, nameOfUuid),
    await placesCheck('Every build that had begun is complete', cloud, facts.building),
    await placesCheck('Every instance that was moved runs at its destination', cloud, facts.migrating),
    queuedCheck(facts),
    await placesCheck('Every boot asked for meanwhile was built after the restart', cloud, facts.queued),
    await oneHostCheck(cloud),
    await noTaskStateCheck(cloud),
    leftOverCheck(cloud, processes),
    settledCheck(facts, processes),
  ];
}

function check(what: string, problems: readonly string[]): Check {
  return { what, holds: problems.length === 0, detail: problems.join('; ') };
}

function drainChecks({ drains }: Facts, nameOfUuid: (uuid: string) => string): readonly Check[] {
  return drains.map(({ host, code, report }) => {
    const left = report.unfinished.map(
      ({ name, subject }) => `${name} of ${nameOfUuid(subject ?? '-')} was left`,
    );
    const exit = code === 0 ? [] : [`exit code ${code} (${report.outcome})`];
    return check(`${host} drained in order and exited with 0`, [...exit, ...left]);
  });
}

async function migrationCheck(
  { records }: Cloud,
  { migrating }: Facts,
  nameOfUuid: (uuid: string) => string,
): Promise<Check> {
  const problems: string[] = [];
  for (const { uuid } of migrating) {
    const migrations = await records.migrations.find({ instance_uuid: uuid });
    if (migrations.length !== 1) problems.push(`${nameOfUuid(uuid)} has ${migrations.length} migrations`);
    for (const migration of migrations) {
      const status = migration.get('status');
      if (status !== 'completed') problems.push(`the migration of ${nameOfUuid(uuid)} is ${status}`);
    }
  }
  return check('Every live migration that had begun is completed', problems);
}

async function placesCheck(
  what: string,
  { records, hypervisors }: Cloud,
  placed: readonly Placed[],
): Promise<Check> {
  const problems: string[] = [];
  for (const { uuid, host } of placed) {
    const instance = await records.instances.get(uuid);
    const state = stateOf(instance);
    if (state !== 'active/null') problems.push(`${nameOf(instance)} is ${state}`);
    if (instance.find('host') !== host)
      problems.push(`${nameOf(instance)} is recorded at ${String(instance.find('host'))}`);
    const where = hypervisors.locate(uuid).join(', ');
    if (where !== host)
      problems.push(`the guest of ${nameOf(instance)} is at ${where === '' ? 'no host' : where}`);
  }
  return check(what, problems);
}

function queuedCheck({ queued, queuedAtExit }: Facts): Check {
  const problems = queued
    .map(({ uuid, host }) => ({ host, state: queuedAtExit.get(uuid) }))
    .filter(({ state }) => state !== 'building/scheduling')
    .map(({ host, state }) => `at the exit of ${host} it was ${String(state)}`);
  return check('No new request was begun by a host that drained', problems);
}

async function oneHostCheck({ records, hypervisors }: Cloud): Promise<Check> {
  const problems: string[] = [];
  for (const instance of await records.instances.find({})) {
    const where = hypervisors.locate(instance.get('uuid'));
    const host = instance.find('host') ?? 'no host';
    if (where.length === 1 && where[0] === host) continue;
    problems.push(
      `${nameOf(instance)} is recorded at ${host}, its guest is at ${where.join(', ') || 'no host'}`,
    );
  }
  return check('Every guest is on exactly one host, the one in its record', problems);
}

async function noTaskStateCheck({ records }: Cloud): Promise<Check> {
  const instances = await records.instances.find({});
  const stuck = instances.filter((instance) => stateOf(instance) !== 'active/null');
  return check(
    'Every instance is active, with no task left on it',
    stuck.map((instance) => `${nameOf(instance)} is ${stateOf(instance)}`),
  );
}

function leftOverCheck({ virts }: Cloud, processes: readonly HostProcess[]): Check {
  const tasks = processes.flatMap(({ service }) =>
    service.registry.snapshot().map(({ name }) => `${service.host} still has ${name}`),
  );
  const expected = [...virts.values()].flatMap((virt) =>
    virt.expected.map((uuid) => `${virt.host} still expects ${uuid}`),
  );
  return check('No task is left in a registry, nothing prepared is left on a host', [...tasks, ...expected]);
}

function settledCheck({ drains }: Facts, processes: readonly HostProcess[]): Check {
  const problems = drains.flatMap(({ host, report }) =>
    report.problems.map((problem) => `${host}: ${problem}`),
  );
  for (const { service, newRequestServer, opsServer } of processes) {
    for (const server of opsServer ? [newRequestServer, opsServer] : [newRequestServer]) {
      const left = server.running + server.waiting;
      const where = `${server.target.topic ?? ''}.${service.host}`;
      if (left > 0) problems.push(`${where} has ${left} requests that are not done`);
      if (server.state !== 'drained') problems.push(`${where} is ${server.state}`);
    }
  }
  return check('Every request that was taken is done, answered and acknowledged', problems);
}

function stateOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${String(instance.get('task_state'))}`;
}

function nameOf(instance: Instance): string {
  return instance.find('display_name') ?? instance.get('uuid');
}
