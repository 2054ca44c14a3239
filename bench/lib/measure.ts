import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Runs `work` so often, so many at a time; resolves with how often a second. */
export async function rate(
  work: () => Promise<unknown>,
  times: number,
  concurrency: number,
): Promise<number> {
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < times) {
      begun += 1;
      await work();
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (times / (performance.now() - startedAt)) * 1000;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Heap in use after everything that can go has gone; needs `--expose-gc`. */
export function heapInUse(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Columns of text, the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map(line).join('\n');
}

/** Keeps a result under bench/results/, which git ignores. */
export function keep(name: string, result: object): void {
  mkdirSync('bench/results', { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length };
  const date = new Date().toISOString();
  writeFileSync(
    `bench/results/${name}-${date.replaceAll(':', '')}.json`,
    JSON.stringify({ date, machine, ...result }, null, 2),
  );
}

/** Seconds of CPU of a process until now (Linux; its clock has 100 ticks a second). */
export function cpuOf({ whereabouts: { pid } }: Pick<Broker, 'whereabouts'>): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** A private broker, as the tests start it: what we use of `test/support/rigs/rabbitmq.ts`. */
export interface Broker {
  readonly whereabouts: { readonly pid: number | undefined };
  vhost(): Promise<string>;
  ctl(...args: readonly string[]): Promise<string>;
  dispose(): Promise<void>;
}

export async function startBroker(options: { readonly plugins?: readonly string[] } = {}): Promise<Broker> {
  const { RabbitNode } = (await rig('rabbitmq')) as {
    RabbitNode: { start(options: object): Promise<Broker> };
  }; // its interface
  return RabbitNode.start(options);
}

/** What the bench needs of a Redis server of its own. */
export interface Store {
  readonly whereabouts: { readonly pid: number | undefined };
  url(query?: string): string;
  ask(...command: readonly (string | number)[]): Promise<unknown>;
  dispose(): Promise<void>;
}

export async function startRedis(): Promise<Store> {
  const { NOT_SAVED, RedisProcess } = (await rig('redis-process')) as {
    NOT_SAVED: readonly string[];
    RedisProcess: { start(options: object): Promise<Store> };
  }; // its interface
  return RedisProcess.start({ config: NOT_SAVED });
}

/** Installs Debian's packages that are missing, as the tests do. */
export async function ensurePackages(names: readonly string[]): Promise<void> {
  const debian = (await rig('debian')) as { ensurePackages(names: readonly string[]): Promise<void> }; // its interface
  await debian.ensurePackages(names);
}

function rig(name: string): Promise<unknown> {
  return import(new URL(`../../test/support/rigs/${name}.js`, import.meta.url).href); // compiled beside us
}

/** One contender of several, beside the first: its own median, and its ratios to the first, round by round. */
export interface AgainstFirst {
  readonly name: string;
  readonly perSecond: number;
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
}

/** @param speeds - of each contender, of each round */
export function againstFirst(
  names: readonly string[],
  speeds: readonly (readonly number[])[],
): AgainstFirst[] {
  const first = speeds[0] ?? [];
  return names.map((name, index) => {
    const own = speeds[index] ?? [];
    const ratios = own.map((speed, round) => speed / (first[round] ?? NaN));
    return {
      name,
      perSecond: median(own),
      ratio: median(ratios),
      least: Math.min(...ratios),
      most: Math.max(...ratios),
    };
  });
}
