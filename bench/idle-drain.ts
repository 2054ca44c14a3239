// npm run bench -- idle-drain [--times 20] [--rabbit]: real compute daemons and real SIGTERM. How long an idle one takes
// from the signal to its exit, and how long one that still builds a guest takes from the end of that task, which its log
// tells. In memory the daemon is `all-in-one`, which drains a conductor and a scheduler after its host; with --rabbit it is
// `compute` alone. Exit code 1 when an aim is missed.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DaemonEvent } from '#compute/main-job/daemon-events.js';
import { keep, median, startBroker, table } from './lib/measure.js';

/** From the signal to the exit of a daemon in which nothing is under way. */
const IDLE_MS = 300;
/** From the end of the last task to the exit. */
const AFTER_TASK_MS = 100;
/** Long enough for the signal to come while it runs. */
const TASK_MS = 1_000;
const HOST = 'compute-a';

const { values } = parseArgs({
  options: { times: { type: 'string', default: '20' }, rabbit: { type: 'boolean', default: false } },
});
const times = Number(values.times);

/** What we use of `test/support/daemon-process.ts` and `operator-cli.ts`, compiled beside us. */
interface Daemon {
  readonly child: {
    readonly exitCode: number | null;
    kill(signal: NodeJS.Signals): boolean;
  } & NodeJS.EventEmitter;
  readonly ended: Promise<{ readonly code: number | null }>;
  readonly log: string;
  event(isIt: (event: DaemonEvent) => boolean): Promise<DaemonEvent>;
  serves(): Promise<void>;
}
interface Operator {
  ok(...argv: string[]): Promise<string>;
}
const { DaemonProcess } = (await support('daemon-process')) as {
  DaemonProcess: new (url: string, argv: readonly string[], options: object) => Daemon;
}; // its exports
const { OperatorCli } = (await support('operator-cli')) as {
  OperatorCli: new (env: Readonly<Record<string, string>>) => Operator;
}; // its exports

function support(name: string): Promise<unknown> {
  return import(new URL(`../test/support/${name}.js`, import.meta.url).href);
}

const folder = mkdtempSync(join(tmpdir(), 'ebbgate-idle-drain-'));
const control = join(folder, 'control');
const broker = values.rabbit ? await startBroker() : undefined;
const url = broker ? await broker.vhost() : '';
const operator = new OperatorCli(values.rabbit ? { EBBGATE_URL: url } : {});
const reach = values.rabbit ? [] : ['--control', control];
const conductor = values.rabbit
  ? new DaemonProcess(
      url,
      ['conductor', '--name', 'conductor-1', '--scheduler', 'local', '--database', 'memory:'],
      {},
    )
  : undefined;
await conductor?.event(({ kind }) => kind === 'serves');

function startDaemon(): Daemon {
  const its = ['--boot-ms', String(TASK_MS), '--state-dir', join(folder, 'guests')];
  const argv = values.rabbit
    ? ['compute', '--host', HOST, ...its]
    : ['all-in-one', '--hosts', HOST, '--database', 'memory:', ...reach, ...its];
  return new DaemonProcess(url, argv, { logLevel: 'info' });
}

/** Sends SIGTERM; resolves with when that was, and when the process had ended. */
async function terminate(daemon: Daemon): Promise<{ readonly sentMs: number; readonly endedMs: number }> {
  const exit = once(daemon.child, 'exit');
  const sentMs = Date.now();
  daemon.child.kill('SIGTERM');
  await exit;
  const endedMs = Date.now();
  const { code } = await daemon.ended;
  if (code !== 0) throw new Error(`It ended with ${String(code)}:\n${daemon.log}`);
  return { sentMs, endedMs };
}

async function idle(): Promise<number> {
  const daemon = startDaemon();
  await daemon.serves();
  const { sentMs, endedMs } = await terminate(daemon);
  return endedMs - sentMs;
}

async function afterItsTask(number: number): Promise<number> {
  const daemon = startDaemon();
  await daemon.serves();
  await operator.ok(
    'instance',
    'boot',
    `vm-${String(number)}`,
    '--host',
    HOST,
    '--flavor',
    'm1.small',
    ...reach,
  );
  await daemon.event(
    (event) => event.kind === 'host' && event.view.tasks.some(({ name }) => name === 'build_instance'),
  );
  const { endedMs } = await terminate(daemon);
  return endedMs - endOfTask(daemon.log);
}

/** When its log, in the milliseconds of the same clock, says that the guest was built. @throws Error when it does not */
function endOfTask(log: string): number {
  for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
    const { msg, time } = JSON.parse(line) as { readonly msg?: string; readonly time: number }; // as pino writes it
    if (msg === 'Task build_instance has completed') return time;
  }
  throw new Error(`The task had ended before the drain:\n${log}`);
}

async function measure(what: string, round: (number: number) => Promise<number>): Promise<number[]> {
  const measured: number[] = [];
  for (let number = 1; number <= times; number += 1) {
    measured.push(await round(number));
    console.error(`  ${what} ${String(number)} of ${String(times)}: ${String(measured.at(-1))} ms`);
  }
  return measured;
}

const idleMs = await measure('idle', idle);
const afterTaskMs = await measure('after its task', afterItsTask);
conductor?.child.kill('SIGTERM');
await conductor?.ended;
const load = loadavg()[0]?.toFixed(1) ?? 'unknown'; // of others, too
await broker?.dispose();
rmSync(folder, { recursive: true, force: true });

const line = (what: string, measured: readonly number[], aim: number): string[] => [
  what,
  String(Math.min(...measured)),
  String(median(measured)),
  String(Math.max(...measured)),
  String(aim),
  median(measured) < aim ? (Math.max(...measured) < aim ? 'met by all' : 'met by the median') : 'MISSED',
];
console.log(
  `${values.rabbit ? 'compute on RabbitMQ' : 'all-in-one in memory'}, ${String(times)} times each; load ${load}\n`,
);
console.log(
  table([
    ['ms', 'least', 'median', 'worst', 'aim', ''],
    line('idle, from SIGTERM to the exit', idleMs, IDLE_MS),
    line('from the end of the last task to the exit', afterTaskMs, AFTER_TASK_MS),
  ]),
);
keep('idle-drain', { broker: values.rabbit ? 'rabbit' : 'memory', times, load, idleMs, afterTaskMs });
process.exitCode = median(idleMs) < IDLE_MS && median(afterTaskMs) < AFTER_TASK_MS ? 0 : 1;
