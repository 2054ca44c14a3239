import { Command } from 'commander';
import { deleteService } from '../api/delete-service.js';
import { unfence } from '../api/fencing.js';
import type { Records, ServiceChanges } from '../db/repositories.js';
import { hostsOf, type HostSight } from './hosts.js';
import { checkHost, isShown } from './named.js';
import { textTable } from './text-table.js';
import { type Machines, OperatorError, OperatorUsageError, type Perform, type Work } from './work.js';

type Given = Readonly<Record<string, unknown>>;

/** `host …`: what an operator does with compute hosts. */
export function hostCommand(perform: Perform): Command {
  const root = new Command('host').description('Compute hosts.').exitOverride();
  const list = root
    .command('list')
    .description('All hosts: up or not, and how full.')
    .option('--json', 'as a JSON list');
  list.action((given: Given) => perform(list, listWork(given)));
  const set = root
    .command('set <host>')
    .description('Says what the others are to think of a host.')
    .option('--disable', 'it gets no new instances')
    .option('--enable', 'it gets new instances')
    .option('--disable-reason <text>', 'why, with --disable')
    .option('--down', 'it is dead, whatever it reports: evacuate may begin. Make sure that it is')
    .option('--up', 'it is as it reports');
  set.action((host: string, given: Given) =>
    perform(set, setWork(host, changesOf(given), given['up'] === true)),
  );
  const remove = root
    .command('delete <host>')
    .description(
      'Removes the record of a host that has nothing any more; it comes back when its process is started.',
    );
  remove.action((host: string) => perform(remove, deleteWork(host)));
  for (const [name, summary, run] of MACHINE_COMMANDS) {
    const command = root.command(`${name} <host>`).description(`All-in-one: ${summary}`);
    command.action((host: string) => perform(command, machineWork(name, host, run)));
  }
  return root;
}

type MachineRun = (machines: Machines, host: string, records: Records) => Promise<string>;

const MACHINE_COMMANDS: readonly (readonly [string, string, MachineRun])[] = [
  [
    'kill',
    'ends a host in the middle of whatever it does, and says that it is down.',
    async (machines, host, records) => {
      await machines.kill(host);
      await records.services.update('compute', host, { forcedDown: true });
      return `${host} is dead`;
    },
  ],
  [
    'drain',
    'what SIGTERM to its process does: finishes what it has begun, and ends.',
    async (machines, host) => `${host} has ended with ${await machines.drain(host)}`,
  ],
  [
    'start',
    'starts a host that has ended, and calls it up again.',
    async (machines, host, records) => {
      await machines.start(host);
      await unfence(records, host);
      machines.tell(host);
      await machines.serves(host);
      return `${host} serves`;
    },
  ],
];

function machineWork(name: string, host: string, run: MachineRun): Work {
  return async ({ api, machines }, terminal) => {
    await checkHost(api, host);
    if (!machines) {
      throw new OperatorError(
        `host ${name} is for an all-in-one in memory; here ${host} is a process: use its signals and host set ${host} --down`,
      );
    }
    terminal.out(`${await run(machines, host, api.records)}\n`);
  };
}

function changesOf(given: Given): ServiceChanges {
  checkChanges(given);
  const reason = given['disableReason'];
  const disabledReason = typeof reason === 'string' ? reason : null;
  return {
    ...(given['disable'] === true && { disabled: true, disabledReason }),
    ...(given['enable'] === true && { disabled: false, disabledReason: null }),
    ...(given['down'] === true && { forcedDown: true }),
  };
}

function checkChanges(given: Given): void {
  const set = ['disable', 'enable', 'down', 'up'].filter((name) => given[name] === true);
  for (const [one, other] of [
    ['disable', 'enable'],
    ['down', 'up'],
  ] as const) {
    if (!set.includes(one) || !set.includes(other)) continue;
    throw new OperatorUsageError(`--${one} and --${other} are both given, and must not be`);
  }
  if (set.length === 0)
    throw new OperatorUsageError('Nothing to set: give --disable, --enable, --down or --up');
  if (given['disableReason'] !== undefined && !set.includes('disable')) {
    throw new OperatorUsageError('--disable-reason is given without --disable, for which it is');
  }
}

function setWork(host: string, changes: ServiceChanges, up: boolean): Work {
  return async ({ api, machines }, terminal) => {
    await checkHost(api, host);
    if (up) await unfence(api.records, host, changes);
    else await api.records.services.update('compute', host, changes);
    machines?.tell(host);
    const now = (await hostsOf(api)).find((one) => one.host === host);
    terminal.out(`${host} is ${now?.state ?? 'unknown'}\n`);
  };
}

function deleteWork(host: string): Work {
  return async ({ api }, terminal) => {
    await checkHost(api, host);
    await deleteService(api.records, { binary: 'compute', host });
    terminal.out(`The record of ${host} is deleted\n`);
  };
}

function listWork(given: Given): Work {
  return async ({ api }, terminal) => {
    const [hosts, instances] = await Promise.all([hostsOf(api), api.records.instances.find({})]);
    const shown = instances.filter(isShown);
    const countAt = (host: string): number => shown.filter((one) => one.find('host') === host).length;
    if (given['json'] === true) {
      terminal.out(`${JSON.stringify(hosts.map((one) => plainHost(one, countAt(one.host))))}\n`);
      return;
    }
    const rows = hosts.map((one) => [
      one.host,
      one.disabledReason === null ? one.state : `${one.state} (${one.disabledReason})`,
      one.zone ?? '-',
      String(countAt(one.host)),
      ...[share(one, 'vcpus'), share(one, 'memoryMb'), share(one, 'diskGb')],
    ]);
    const lines = textTable([['HOST', 'IS', 'ZONE', 'INSTANCES', 'VCPUS', 'MEMORY_MB', 'DISK_GB'], ...rows]);
    terminal.out(`${lines.join('\n')}\n`);
  };
}

function share({ used, total }: HostSight, what: 'vcpus' | 'memoryMb' | 'diskGb'): string {
  return used && total ? `${used[what]}/${total[what]}` : '-';
}

function plainHost(one: HostSight, instances: number): Readonly<Record<string, unknown>> {
  return {
    host: one.host,
    state: one.state,
    disabled_reason: one.disabledReason,
    availability_zone: one.zone,
    instances,
    used: one.used ?? null,
    total: one.total ?? null,
    reported_at: new Date(one.reportedAtMs).toISOString(),
  };
}
