// npm run bench -- thousand-hosts [--hosts 1000] [--at-once 50] [--guests 200] [--users 8] [--seed 1]: so many compute hosts
// in one process, on one transport to a private RabbitMQ. Counts the connections at the broker, and the memory of a host;
// then restarts all hosts, one after another and then so many at a time, while live migrations and boots go on between
// them. Exit code 1 when anything is lost, was done twice or did not drain in order, or an aim is missed.
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLogger } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { Cloud } from '#compute/main-job/cloud.js';
import { keep, median, startBroker, table } from './lib/measure.js';

/** Above the first, each host has at most so much. */
const AIM_BYTES = 150_000;

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '1000' },
    'at-once': { type: 'string', default: '50' },
    guests: { type: 'string', default: '200' },
    users: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
const [hosts, atOnce, guests, users, seed] = [
  Number(values.hosts),
  Number(values['at-once']),
  Number(values.guests),
  Number(values.users),
  Number(values.seed),
] as const;

/** What we use of `test/support/rolling-hosts.ts`, compiled beside us. */
interface RollingHosts {
  readonly counts: { readonly boots: number; readonly moves: number; readonly refused: number };
  readonly drains: readonly number[];
  boot(): Promise<void>;
  roll(atOnce: number): Promise<void>;
  problems(): Promise<readonly string[]>;
}
interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly of: number;
}
const scenario = (await import(new URL('../test/support/rolling-hosts.js', import.meta.url).href)) as {
  RollingHosts: new (cloud: Cloud, options: object) => RollingHosts;
}; // its exports

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // there by the flag

/** In use after everything that can go has gone. */
async function memory(): Promise<{ readonly heap: number; readonly resident: number }> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise(setImmediate); // what was let go in this turn is held until the next
    collect();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

console.error('starting a broker');
const broker = await startBroker();

async function cloudOf(count: number): Promise<Cloud> {
  return new Cloud({
    transport: await broker.vhost(),
    drivers: [rabbitDriver],
    hosts: Array.from({ length: count }, (_, index) => `compute-${String(index + 1).padStart(4, '0')}`),
    sharedTransport: true,
    bootMs: 0,
    migrationMs: 20,
    opsServer: true,
    tasksMs: 60_000,
    closingMs: 5_000, // this and the next as daemons have them
    recheckMs: 10_000,
    maxConcurrentLiveMigrations: 4,
    logger: silentLogger,
  });
}

async function connections(): Promise<number> {
  const pids = (await broker.ctl('-q', 'list_connections', 'pid', '--no-table-headers')).trim();
  return pids === '' ? 0 : pids.split('\n').length;
}

let shown = '';
function show({ phase, done, of }: Progress): void {
  const text = `${phase}: ${String(Math.floor((done / of) * 20) * 5)} %`;
  if (text !== shown) console.error(`  ${text} (${String(done)} of ${String(of)})`);
  shown = text;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** With one host: what the process has anyhow. The first time it loads and compiles what the second finds there. */
async function withOneHost(): Promise<{ readonly heap: number; readonly resident: number }> {
  const cloud = await cloudOf(1);
  await cloud.start();
  const used = await memory();
  await cloud.stop();
  return used;
}

await withOneHost();
const one = await withOneHost();
const cloud = await cloudOf(hosts);
const run = new scenario.RollingHosts(cloud, { guests, users, seed, onProgress: show });
console.error(`starting ${String(hosts)} hosts`);
let begun = 0;
for (const host of cloud.hosts.values())
  host.events.on('started', () => {
    begun += 1;
    if (begun <= hosts) show({ phase: 'started', done: begun, of: hosts });
  });
const startedIn = await secondsOf(() => cloud.start());
const many = await memory();
const connected = await connections();
const perHost = (kind: 'heap' | 'resident'): number => (many[kind] - one[kind]) / (hosts - 1);
console.error(`${String(connected)} connections, ${(perHost('heap') / 1000).toFixed(1)} kB a host`);

console.error(`booting ${String(guests)} guests`);
await run.boot();
const rolls: { readonly atOnce: number; readonly seconds: number; readonly connections: number }[] = [];
const drained: number[][] = [];
for (const together of [1, atOnce]) {
  console.error(
    `restarting all hosts, ${String(together)} at a time, while ${String(users)} users move guests`,
  );
  const before = run.drains.length;
  const seconds = await secondsOf(() => run.roll(together));
  rolls.push({ atOnce: together, seconds, connections: await connections() });
  drained.push(run.drains.slice(before));
}
const rolled = await memory();
const problems = await run.problems();
const { boots, moves, refused } = run.counts;
const migrations = await cloud.records.migrations.find({ status: 'completed' });
console.error('the end of all hosts at once');
const endedIn = await secondsOf(() => cloud.stop());
await broker.dispose();

const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
console.log(
  table([
    [`${String(hosts)} hosts, ${String(2 * hosts)} RPC servers`, ''],
    ['start, one after another', `${startedIn.toFixed(1)} s`],
    ['connections', [connected, ...rolls.map(({ connections: count }) => count)].join(', ')],
    ['heap and external of each host above the first', kB(perHost('heap'))],
    ['resident of each host above the first', kB(perHost('resident'))],
    ['the same heap after all restarts, with guests', kB((rolled.heap - one.heap) / (hosts - 1))],
    ...rolls.map(({ atOnce: together, seconds }, index) => [
      `restart of all, ${String(together)} at a time`,
      `${seconds.toFixed(1)} s; drains of ${median(drained[index] ?? []).toFixed(0)} ms, at most ${Math.max(...(drained[index] ?? [])).toFixed(0)}`,
    ]),
    ['end of all at once', `${endedIn.toFixed(1)} s`],
    ['boots, moves asked for', `${String(boots)}, ${String(moves)}`],
    ['moves completed, refused', `${String(migrations.length)}, ${String(refused)}`],
    ['wrong', String(problems.length)],
  ]),
);
for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
const isConstant = rolls.every(({ connections: count }) => count === connected);
const isSmall = perHost('heap') < AIM_BYTES;
console.log(
  `\nconnections ${isConstant ? 'stay the same' : 'do NOT stay the same'}; less than ${kB(AIM_BYTES)} a host: ${isSmall ? 'yes' : 'NO'}`,
);
keep('thousand-hosts', {
  ...{ hosts, atOnce, guests, users, seed, startedIn, connections: connected },
  ...{ heapPerHost: perHost('heap'), residentPerHost: perHost('resident'), rolls, endedIn },
  ...{ boots, moves, refused, completed: migrations.length, problems },
});
process.exitCode = problems.length === 0 && isConstant && isSmall ? 0 : 1;
