import { type AgainstFirst, againstFirst, rate, table } from './measure.js';

/** Something that is compared with the first of its kind. */
export interface Contender {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/** How much, and how often. */
export interface Rounds {
  readonly rounds: number;
  readonly calls: number;
  readonly concurrency: number;
}

/** Each contender beside the first: by the clock, and by the CPU of this process (so without a broker). */
export interface Compared {
  readonly byClock: readonly AgainstFirst[];
  readonly byCpu: readonly AgainstFirst[];
}

/** What a requirement allows, of the throughput of the first. */
const LEAST_RATIO = 0.95;

/** Lets the contenders run in turn, round by round, after one round to get warm. */
export async function compareInTurn(contenders: readonly Contender[], how: Rounds): Promise<Compared> {
  const { rounds, calls, concurrency } = how;
  for (const { run } of contenders) await rate(run, calls, concurrency);
  const speeds = contenders.map(() => [] as number[]);
  const byCpu = contenders.map(() => [] as number[]);
  for (let round = 0; round < rounds; round += 1) {
    // Each round begins with another one, so that none always comes after the same neighbour.
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const index = (round + turn) % contenders.length;
      const contender = contenders[index];
      if (!contender) continue;
      const before = process.cpuUsage();
      speeds[index]?.push(await rate(contender.run, calls, concurrency));
      const { user, system } = process.cpuUsage(before);
      byCpu[index]?.push((calls / (user + system)) * 1e6);
    }
  }
  const names = contenders.map(({ name }) => name);
  return { byClock: againstFirst(names, speeds), byCpu: againstFirst(names, byCpu) };
}

/** Comparisons as text, each under its heading. */
export function comparisonTable(compared: ReadonlyMap<string, Compared>): string {
  const lines = [['', 'a second', 'ratio', 'least', 'most', 'CPU µs', 'ratio by CPU']];
  for (const [heading, { byClock, byCpu }] of compared) {
    lines.push([heading, '', '', '', '', '', '']);
    for (const [index, { name, perSecond, ratio, least, most }] of byClock.entries()) {
      const ratios = [ratio, least, most].map((one) => one.toFixed(2));
      const { perSecond: perCpuSecond = NaN, ratio: cpuRatio = NaN } = byCpu[index] ?? {};
      const cpu = [(1e6 / perCpuSecond).toFixed(1), cpuRatio.toFixed(2)];
      lines.push([`  ${name}`, Math.round(perSecond).toLocaleString('en'), ...ratios, ...cpu]);
    }
  }
  return table(lines);
}

/**
 * Says whether all ratios by CPU are at least the limit; by the clock they depend on what else the machine does.
 *
 * @param check - a limit of the caller's: when it is missed, the exit code of this process becomes 1
 */
export function tellIfMet(compared: ReadonlyMap<string, Compared>, check: string | undefined): void {
  const limit = check === undefined ? LEAST_RATIO : Number(check);
  if (!(limit > 0)) throw new RangeError(`--check must be a ratio above 0, not ${String(check)}`);
  const worst = Math.min(...[...compared.values()].flatMap(({ byCpu }) => byCpu.map(({ ratio }) => ratio)));
  const met = worst >= limit;
  console.log(
    `\nGS-88, at least ${limit.toFixed(2)} by CPU: ${met ? 'met' : 'not met'} (${worst.toFixed(3)})`,
  );
  if (!met && check !== undefined) process.exitCode = 1;
}
