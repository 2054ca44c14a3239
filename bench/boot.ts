// npm run bench -- boot [--times N] [--hosts N] [--memory] [--rabbit]: boots through conductor, scheduler and compute hosts,
// all in one process, on SQLite (a file; each commit waits for the disk); hosts have their records over RPC. The rate, and
// where the time of one boot goes. The fake hypervisor takes 0 ms.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  type AllocationRepository,
  ComputeHost,
  ConductorApi,
  conductorService,
  CONTROL_EXCHANGE,
  FakeVirtDriver,
  HypervisorNetwork,
  type LocalRecords,
  type Networking,
  openRecords,
  RemoteNetworking,
  RemoteRecords,
  schedulerService,
  Servers,
} from '@ebbgate/compute';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { Liveness } from '#compute/servicegroup/liveness.js';
import { keep, startBroker, table } from './lib/measure.js';

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '300' },
    hosts: { type: 'string', default: '3' },
    memory: { type: 'boolean', default: false },
    rabbit: { type: 'boolean', default: false },
  },
});
const times = Number(values.times);
const names = Array.from({ length: Number(values.hosts) }, (_, index) => `compute-${String(index + 1)}`);

/** What is measured by the moments at which a boot passes from one part to the next; they add up to the whole. */
const STAGES = [
  'the API writes the record',
  'API → conductor',
  'conductor → scheduler',
  'the scheduler reads, filters and weighs',
  'the scheduler claims',
  'scheduler → conductor → host',
  'the host: its records, over RPC',
  'the host: its network, over RPC',
  'the host: the rest, and the hypervisor',
] as const;
type Stage = (typeof STAGES)[number];

/** Times by name, in milliseconds, while it is switched on. */
class Stopwatch {
  readonly sums = new Map<string, number>();
  on = false;

  add(name: string, ms: number): void {
    if (this.on) this.sums.set(name, this.of(name) + ms);
  }

  of(name: string): number {
    return this.sums.get(name) ?? 0;
  }

  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.add(name, performance.now() - startedAt);
    }
  }

  /** The same object, with the time of each of its methods added under a name. */
  around<T extends object>(object: T, name: string | ((method: string) => string)): T {
    return new Proxy(object, {
      get: (of, property) => {
        const value: unknown = Reflect.get(of, property, of);
        if (typeof value !== 'function') return value;
        const called = typeof name === 'string' ? name : name(String(property));
        return (...args: unknown[]) =>
          this.time(called, async () => (await Reflect.apply(value, of, args)) as unknown);
      },
    });
  }
}

const watch = new Stopwatch();
const SQL = 'in the database';
const folder = mkdtempSync(join(tmpdir(), 'ebbgate-boot-'));
const broker = values.rabbit ? await startBroker() : undefined;
const url = broker ? await broker.vhost() : 'memory://boot/';
const open = (): Transport =>
  createTransport(url, { drivers: [rabbitDriver], controlExchange: CONTROL_EXCHANGE });
const records = await openRecords(values.memory ? 'memory:' : `sqlite:///${folder}/records.sqlite`, {
  logger: silentLogger,
});

const timed: LocalRecords = {
  instances: watch.around(records.instances, SQL),
  migrations: watch.around(records.migrations, SQL),
  services: records.services, // what is reported meanwhile is no part of a boot
  allocations: records.allocations,
  networks: watch.around(records.networks, SQL),
  cells: records.cells,
  mappings: records.mappings,
  events: records.events,
  close: () => Promise.resolve(),
};
const allocations: AllocationRepository = watch.around(records.allocations, (method) =>
  method === 'claim' ? 'the scheduler claims' : 'other allocations',
);
const conductor = conductorService({
  name: 'conductor-1',
  transport: open(),
  records: { served: timed },
  scheduler: 'rpc',
  logger: silentLogger,
}).service;
const scheduler = schedulerService({
  name: 'scheduler-1',
  transport: open(),
  records: { ...timed, allocations },
  logger: silentLogger,
});
const network = new HypervisorNetwork();
const hosts = names.map((name) => {
  const transport = open();
  const remote = new RemoteRecords(transport);
  const networking: Networking = watch.around<Networking>(
    new RemoteNetworking(transport),
    'the host: its network, over RPC',
  );
  return new ComputeHost({
    name,
    openTransport: () => transport,
    records: {
      instances: watch.around(remote.instances, 'the host: its records, over RPC'),
      migrations: remote.migrations,
      services: remote.services,
      allocations: remote.allocations,
    },
    networking,
    virt: new FakeVirtDriver(name, { network, networking, spawnMs: 0, migrationMs: 0 }),
    logger: silentLogger,
    limits: { maxConcurrentBuilds: 1000 },
  });
});

await conductor.start();
await scheduler.start();
for (const host of hosts) await host.start();

/** When the boot under way came where, by the name of the task there. */
const moments = new Map<string, number>();
for (const { registry } of [conductor, scheduler, ...hosts.map(({ process }) => process.service)]) {
  registry.events.on('opened', ({ name }) => moments.set(`${name} opened`, performance.now()));
  registry.events.on('ended', ({ task }) => moments.set(`${task.name} ended`, performance.now()));
}
const waiting = new Map<string, () => void>();
for (const { process: run } of hosts) {
  run.service.registry.events.on('ended', ({ task }) => {
    if (task.name === 'build_instance') waiting.get(task.subject ?? '')?.();
  });
}

const apiTransport = open();
const servers = new Servers({
  records: timed,
  conductor: new ConductorApi(apiTransport),
  liveness: new Liveness(),
});
const job = await RecordedJob.read({ freshIds: true });
let number = 0;

/** Boots one instance; resolves when its host has done with it. */
async function boot(): Promise<void> {
  number += 1;
  const request = job.bootRequest(number, names[0] ?? '');
  request.requestSpec.update({ force_hosts: null }); // the scheduler has the choice
  const uuid = request.instance.get('uuid');
  const ended = new Promise<void>((resolve) => waiting.set(uuid, resolve));
  const startedAt = performance.now();
  const asked = servers.boot(job.context, request);
  await ended;
  const endedAt = performance.now();
  await asked;
  if ((await records.instances.get(uuid)).get('vm_state') !== 'active') throw new Error('a boot has failed');
  waiting.delete(uuid);
  tellStages(startedAt, endedAt);
}

let created = 0;
records.events.on('instance', (instance) => {
  if (instance.get('task_state') === 'scheduling' && instance.find('host') === null)
    created = performance.now();
});

/** Right for one boot at a time. */
function tellStages(startedAt: number, endedAt: number): void {
  const at = (name: string): number => moments.get(name) ?? NaN;
  watch.add('the API writes the record', created - startedAt);
  watch.add('API → conductor', at('schedule_and_build_instances opened') - created);
  watch.add(
    'conductor → scheduler',
    at('select_destinations opened') - at('schedule_and_build_instances opened'),
  );
  watch.add('scheduling', at('select_destinations ended') - at('select_destinations opened'));
  watch.add('scheduler → conductor → host', at('build_instance opened') - at('select_destinations ended'));
  watch.add('host', endedAt - at('build_instance opened'));
  watch.add('whole', endedAt - startedAt);
}

for (let warm = 0; warm < 50; warm += 1) await boot();
console.error(`${String(times)} boots, one at a time`);
watch.on = true;
const alone = await rateOf(1);
watch.on = false;
console.error(`${String(times)} boots, 32 at a time`);
const together = await rateOf(32);

async function rateOf(concurrency: number): Promise<number> {
  let begun = 0;
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    while (begun < times) {
      begun += 1;
      await boot();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (times / (performance.now() - startedAt)) * 1000;
}

for (const host of hosts) await host.terminate();
await conductor.drain('the end');
await scheduler.drain('the end');
await apiTransport.close();
await records.close();
await broker?.dispose();
rmSync(folder, { recursive: true, force: true });

const derived: Partial<Record<Stage, number>> = {
  'the scheduler reads, filters and weighs': watch.of('scheduling') - watch.of('the scheduler claims'),
  'the host: the rest, and the hypervisor':
    watch.of('host') -
    watch.of('the host: its records, over RPC') -
    watch.of('the host: its network, over RPC'),
};
const whole = watch.of('whole');
const stages = STAGES.map((stage) => ({ stage, ms: (derived[stage] ?? watch.of(stage)) / times }));
const line = (name: string, ms: number): string[] => [
  name,
  ms.toFixed(2),
  `${((ms / (whole / times)) * 100).toFixed(0)} %`,
];
console.log(
  `${values.rabbit ? 'RabbitMQ' : 'memory'}, records in ${values.memory ? 'memory' : 'SQLite'}, ${values.hosts} hosts; ` +
    `${alone.toFixed(0)} boots a second one at a time, ${together.toFixed(0)} when 32 are under way\n`,
);
console.log(
  table([
    ['one boot alone', 'ms', 'share'],
    ...stages.map(({ stage, ms }) => line(stage, ms)),
    line('all of it', whole / times),
    line('  of which the database works, claims apart', watch.of(SQL) / times),
  ]),
);
keep('boot', {
  broker: values.rabbit ? 'rabbit' : 'memory',
  times,
  hosts: names.length,
  alone,
  together,
  stages,
});
