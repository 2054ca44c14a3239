import { type Instance, nameOf } from '../objects/instance.js';
import type { Remains } from './job-cloud.js';
import type { Check, HostEvent } from './job-events.js';
import type { Facts, Placed } from './scenario.js';

/** What was seen of the hosts. */
export interface Observed {
  /** The ends of all runs of all hosts. */
  readonly exits: readonly Extract<HostEvent, { kind: 'exit' }>[];
  readonly nameOf: (uuid: string) => string;
}

/**
 * What must hold when everything has ended: each operation that had begun is complete, and nothing is lost or left
 * over.
 */
export function checkInvariants(
  remains: Remains,
  facts: Facts,
  { exits, nameOf: nameOfUuid }: Observed,
): readonly Check[] {
  return [
    ...drainChecks(facts, nameOfUuid),
    migrationCheck(remains, facts, nameOfUuid),
    placesCheck('Every build that had begun is complete', remains, facts.building),
    placesCheck('Every instance that was moved runs at its destination', remains, facts.migrating),
    queuedCheck(facts),
    placesCheck('Every boot asked for meanwhile was built after the restart', remains, facts.queued),
    oneHostCheck(remains),
    noTaskStateCheck(remains),
    leftOverCheck(remains, exits),
    settledCheck(facts, exits),
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

function migrationCheck(
  { migrations }: Remains,
  { migrating }: Facts,
  nameOfUuid: (uuid: string) => string,
): Check {
  const problems: string[] = [];
  for (const { uuid } of migrating) {
    const its = migrations.filter((migration) => migration.get('instance_uuid') === uuid);
    if (its.length !== 1) problems.push(`${nameOfUuid(uuid)} has ${its.length} migrations`);
    for (const migration of its) {
      const status = migration.get('status');
      if (status !== 'completed') problems.push(`the migration of ${nameOfUuid(uuid)} is ${status}`);
    }
  }
  return check('Every live migration that had begun is completed', problems);
}

function placesCheck(what: string, remains: Remains, placed: readonly Placed[]): Check {
  return check(
    what,
    placed.flatMap((one) => misplaced(remains, one)),
  );
}

function misplaced({ instances, locate }: Remains, { uuid, host }: Placed): readonly string[] {
  const instance = instances.find((one) => one.get('uuid') === uuid);
  if (!instance) return [`there is no record of ${uuid}`];
  const problems: string[] = [];
  const state = stateOf(instance);
  if (state !== 'active/null') problems.push(`${nameOf(instance)} is ${state}`);
  if (instance.find('host') !== host)
    problems.push(`${nameOf(instance)} is recorded at ${String(instance.find('host'))}`);
  const where = locate(uuid).join(', ');
  if (where !== host)
    problems.push(`the guest of ${nameOf(instance)} is at ${where === '' ? 'no host' : where}`);
  return problems;
}

function queuedCheck({ queued, queuedAtExit }: Facts): Check {
  const problems = queued
    .map(({ uuid, host }) => ({ host, state: queuedAtExit.get(uuid) }))
    .filter(({ state }) => state !== 'building/scheduling')
    .map(({ host, state }) => `at the exit of ${host} it was ${String(state)}`);
  return check('No new request was begun by a host that drained', problems);
}

function oneHostCheck({ instances, locate }: Remains): Check {
  const problems: string[] = [];
  for (const instance of instances) {
    const where = locate(instance.get('uuid'));
    const host = instance.find('host') ?? 'no host';
    if (where.length === 1 && where[0] === host) continue;
    problems.push(
      `${nameOf(instance)} is recorded at ${host}, its guest is at ${where.join(', ') || 'no host'}`,
    );
  }
  return check('Every guest is on exactly one host, the one in its record', problems);
}

function noTaskStateCheck({ instances }: Remains): Check {
  const stuck = instances.filter((instance) => stateOf(instance) !== 'active/null');
  return check(
    'Every instance is active, with no task left on it',
    stuck.map((instance) => `${nameOf(instance)} is ${stateOf(instance)}`),
  );
}

function leftOverCheck(remains: Remains, exits: Observed['exits']): Check {
  const tasks = exits.flatMap(({ host, report }) =>
    report.unfinished.map(({ name }) => `${host} left ${name}`),
  );
  const expected = remains.expected.map(({ host, uuid }) => `${host} still expects ${uuid}`);
  return check('No task is left in a registry, nothing prepared is left on a host', [...tasks, ...expected]);
}

function settledCheck({ drains }: Facts, exits: Observed['exits']): Check {
  const problems = drains.flatMap(({ host, report }) =>
    report.problems.map((problem) => `${host}: ${problem}`),
  );
  for (const { host, servers } of exits) {
    for (const { topic, state, requests } of servers) {
      if (requests > 0) problems.push(`${topic}.${host} has ${requests} requests that are not done`);
      if (state !== 'drained') problems.push(`${topic}.${host} is ${state}`);
    }
  }
  return check('Every request that was taken is done, answered and acknowledged', problems);
}

function stateOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${String(instance.get('task_state'))}`;
}
