import { MessagingTimeoutError } from '@ebbgate/core';
import { Command } from 'commander';
import { DRAIN_REASON, drainHost } from '../api/drain-host.js';
import { deleteService } from '../api/delete-service.js';
import { unfence } from '../api/fencing.js';
import type { Records, ServiceChanges } from '../db/repositories.js';
import { evacuateHostWork } from './evacuate-host.js';
import { textOf } from './actions.js';
import { hostsOf, type HostSight } from './hosts.js';
import { checkHost, isShown } from './named.js';
import { textTable } from './text-table.js';
import { watchDrain } from './watch-drain.js';
import {
  type Machines,
  OPERATOR,
  OperatorError,
  OperatorUsageError,
  type Perform,
  type Work,
} from './work.js';

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
    .option('--down-reason <text>', 'why, with --down')
    .option('--up', 'it is as it reports');
  set.action((host: string, given: Given) => perform(set, setWork(host, changesOf(given), given)));
  const evacuate = root
    .command('evacuate <host>')
    .description('Makes all instances of a host that is down anew on others, and shows how it goes.')
    .option('--host <name>', 'where to (default: the scheduler chooses)')
    .option('--parallel <n>', 'so many at the same time (default: 5)')
    .option('--json', 'print how it came out, as a JSON object');
  evacuate.action((host: string, given: Given) => perform(evacuate, evacuateHostWork(host, given)));
  const remove = root
    .command('delete <host>')
    .description(
      'Removes the record of a host that has nothing any more; it comes back when its process is started.',
    );
  remove.action((host: string) => perform(remove, deleteWork(host)));
  root.addCommand(drainCommand(perform));
  for (const [name, summary, run] of MACHINE_COMMANDS) {
    const command = root.command(`${name} <host>`).description(`All-in-one: ${summary}`);
    command.action((host: string) => perform(command, machineWork(name, host, run)));
  }
  return root;
}

/** `host drain`, and `drain` for short. */
export function drainCommand(perform: Perform): Command {
  const drain = new Command('drain')
    .argument('<host>')
    .description('What SIGTERM to its process does: it finishes what it has begun, and ends.')
    .option('--watch', 'show what it waits for, since when, and until when, to its end')
    .option('--json', 'with --watch: an object for each change')
    .exitOverride();
  return drain.action((host: string, given: Given) => perform(drain, drainWork(host, given)));
}

type MachineRun = (machines: Machines, host: string, records: Records) => Promise<string>;

const MACHINE_COMMANDS: readonly (readonly [string, string, MachineRun])[] = [
  [
    'kill',
    'ends a host in the middle of whatever it does, and says that it is down.',
    async (machines, host, records) => {
      await machines.kill(host);
      await forceDown(records, host, null);
      return `${host} is dead`;
    },
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

/** In an all-in-one the end is waited for. */
function drainWork(host: string, given: Given): Work {
  const [watch, json] = [given['watch'] === true, given['json'] === true];
  if (json && !watch) throw new OperatorUsageError('--json is given without --watch, for which it is');
  return async ({ api, apiFor, context, machines }, terminal) => {
    await checkHost(api, host);
    const watched = (): Promise<string | undefined> | undefined =>
      watch ? watchDrain(api, host, terminal, json) : undefined;
    if (machines) {
      const [code, otherEnd] = await Promise.all([machines.drain(host), watched()]);
      if (!json) terminal.out(`${host} has ended with ${code}\n`);
      refuse(otherEnd);
      return;
    }
    const { parts } = await apiFor(host);
    const service = await parts.records.services.get('compute', host);
    await drainHost(parts, context, service, DRAIN_REASON).catch((error: unknown) => {
      if (!(error instanceof MessagingTimeoutError)) throw error;
      throw new OperatorError(`${host} has not answered: its process has died, or hangs`, { cause: error });
    });
    if (!watch) terminal.out(`${host} drains\n`);
    refuse(await watched());
  };
}

function refuse(otherEnd: string | undefined): void {
  if (otherEnd !== undefined) throw new OperatorError(otherEnd);
}

function machineWork(name: string, host: string, run: MachineRun): Work {
  return async ({ api, machines }, terminal) => {
    await checkHost(api, host);
    if (!machines) {
      throw new OperatorError(
        `host ${name} is for an all-in-one without a broker; here ${host} is a process: use its signals and host set ${host} --down`,
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
  for (const what of ['disable', 'down']) {
    if (given[`${what}Reason`] === undefined || set.includes(what)) continue;
    throw new OperatorUsageError(`--${what}-reason is given without --${what}, for which it is`);
  }
}

/** With who says so. */
async function forceDown(
  { services }: Pick<Records, 'services'>,
  host: string,
  reason: string | null,
  besides: ServiceChanges = {},
): Promise<void> {
  const forcedDownNote = { by: OPERATOR.userId, reason };
  await services.update('compute', host, { ...besides, forcedDown: true, forcedDownNote });
}

function setWork(host: string, changes: ServiceChanges, given: Given): Work {
  return async ({ api, machines }, terminal) => {
    await checkHost(api, host);
    if (given['up'] === true) await unfence(api.records, host, changes);
    else if (changes.forcedDown === true)
      await forceDown(api.records, host, textOf(given, 'downReason') ?? null, changes);
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
      stateText(one),
      one.zone ?? '-',
      String(countAt(one.host)),
      ...[share(one, 'vcpus'), share(one, 'memoryMb'), share(one, 'diskGb')],
    ]);
    const lines = textTable([['HOST', 'IS', 'ZONE', 'INSTANCES', 'VCPUS', 'MEMORY_MB', 'DISK_GB'], ...rows]);
    terminal.out(`${lines.join('\n')}\n`);
  };
}

function plainNote({ service: { forcedDownNote: note } }: HostSight): object | null {
  return note && { by: note.by, reason: note.reason, at: new Date(note.atMs).toISOString() };
}

function stateText({ state, disabledReason, service }: HostSight): string {
  const reason = service.forcedDownNote?.reason ?? disabledReason;
  return reason === null ? state : `${state} (${reason})`;
}

function share({ used, total }: HostSight, what: 'vcpus' | 'memoryMb' | 'diskGb'): string {
  return used && total ? `${used[what]}/${total[what]}` : '-';
}

function plainHost(one: HostSight, instances: number): Readonly<Record<string, unknown>> {
  return {
    host: one.host,
    state: one.state,
    disabled_reason: one.disabledReason,
    forced_down: plainNote(one),
    availability_zone: one.zone,
    instances,
    used: one.used ?? null,
    total: one.total ?? null,
    reported_at: new Date(one.reportedAtMs).toISOString(),
  };
}
