// npm run bench -- migrations [--hosts 20] [--count 200] [--per-host N] [--copy-ms 0] [--seed N] [--rabbit]: live
// migrations of all guests at once, in one process, and whether each is where it must be in the end: guests, records,
// ports, allocations. Exit code 1 when one is lost, or anything was done twice.
import { parseArgs } from 'node:util';
import { silentLogger } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { Cloud } from '#compute/main-job/cloud.js';
import { keep, startBroker, table } from './lib/measure.js';

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '20' },
    count: { type: 'string', default: '200' },
    'per-host': { type: 'string' },
    'copy-ms': { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    rabbit: { type: 'boolean', default: false },
  },
});
const [hosts, count, copyMs, seed] = [values.hosts, values.count, values['copy-ms'], values.seed].map(Number);
const perHost = Number(values['per-host'] ?? count);

/** What we use of `test/support/many-migrations.ts`, compiled beside us. */
interface ManyMigrations {
  boot(): Promise<void>;
  ask(): Promise<void>;
  whenOver(): Promise<void>;
  readonly completed: number;
  problems(): Promise<readonly string[]>;
}
interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly of: number;
}
const scenario = (await import(new URL('../test/support/many-migrations.js', import.meta.url).href)) as {
  ManyMigrations: new (cloud: Cloud, options: object) => ManyMigrations;
}; // its exports

if (values.rabbit) console.error('starting a broker');
const broker = values.rabbit ? await startBroker() : undefined;
const cloud = new Cloud({
  transport: broker ? await broker.vhost() : 'memory://migrations/',
  drivers: [rabbitDriver],
  hosts: Array.from({ length: hosts ?? 0 }, (_, index) => `compute-${String(index + 1).padStart(2, '0')}`),
  bootMs: 0,
  migrationMs: copyMs ?? 0,
  opsServer: true,
  tasksMs: 60_000,
  maxConcurrentLiveMigrations: perHost,
  conductors: 2,
  schedulers: 2,
  logger: silentLogger,
});

let shown = '';
function show({ phase, done, of }: Progress): void {
  const text = `${phase}: ${String(Math.floor((done / of) * 10) * 10)} %`;
  if (text !== shown) console.error(`  ${text} (${String(done)} of ${String(of)})`);
  shown = text;
}

const run = new scenario.ManyMigrations(cloud, { count, seed, onProgress: show });
await cloud.start();
console.error(`${String(count)} guests on ${String(hosts)} hosts`);
const bootedIn = await timed(() => run.boot());
console.error(`${String(count)} live migrations at once`);
const migratedIn = await timed(async () => {
  await run.ask();
  await run.whenOver();
});
const drainedIn = await timed(() => cloud.stop());
const problems = await run.problems();
await broker?.dispose();

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const perSecond = (ms: number): string => ((Number(count) / ms) * 1000).toFixed(0);
console.log(
  `${values.rabbit ? 'RabbitMQ' : 'memory'}, everything in one process; ${String(count)} guests, ${String(hosts)} hosts, seed ${String(seed)}\n`,
);
console.log(
  table([
    ['', 'seconds', 'a second'],
    ['boots', (bootedIn / 1000).toFixed(2), perSecond(bootedIn)],
    ['live migrations', (migratedIn / 1000).toFixed(2), perSecond(migratedIn)],
    ['drain of all hosts', (drainedIn / 1000).toFixed(2), ''],
  ]),
);
console.log(`\ncompleted ${String(run.completed)} of ${String(count)}; wrong: ${String(problems.length)}`);
for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
const kept = { broker: values.rabbit ? 'rabbit' : 'memory', hosts, count, seed, perHost, copyMs };
keep('migrations', { ...kept, bootedIn, migratedIn, drainedIn, completed: run.completed, problems });
process.exitCode = problems.length === 0 && run.completed === count ? 0 : 1;
