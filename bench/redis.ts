// npm run bench -- redis [--rounds N] [--only NAME] [--share PART]: the Redis driver, with both kinds of acceptance, against the
// least raw ioredis code with streams, two processes each and one store. --share 0.2: a fifth of the calls in each round.
import { parseArgs } from 'node:util';
import { keep, median, startRedis, table } from './lib/measure.js';
import { endPair, type Pair, round, startPair } from './lib/rabbit-pair.js';
import type { RoundRequest } from './lib/rabbit-peer.js';

const scenarios = new Map<string, RoundRequest>([
  ['32 calls at a time', { kind: 'call', times: 12_000, concurrency: 32, bytes: 0 }],
  ['256 calls at a time', { kind: 'call', times: 20_000, concurrency: 256, bytes: 0 }],
  ['one call at a time', { kind: 'call', times: 1500, concurrency: 1, bytes: 0 }],
  ['32 calls at a time of 64 KiB', { kind: 'call', times: 1500, concurrency: 32, bytes: 65_536 }],
  ['casts, 256 at a time', { kind: 'cast', times: 20_000, concurrency: 256, bytes: 0 }],
]);

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    share: { type: 'string', default: '1' },
  },
});
const rounds = Number(values.rounds);
const share = Number(values.share);
const redis = await startRedis();

/** Bytes that the store holds. */
async function memory(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await redis.ask('info', 'memory')))?.[1]);
}

const beforeAll = await memory();
const pairs: Pair[] = [];
for (const name of ['floor', 'confirmed', 'written']) {
  const query = name === 'floor' ? '' : `key_prefix=${name}`;
  pairs.push(await startPair(name, redis.url(query)));
}
const rows: {
  scenario: string;
  name: string;
  perSecond: number;
  ratio: number;
  least: number;
  most: number;
  cpu: number;
}[] = [];
for (const [scenario, whole] of scenarios) {
  if (values.only !== undefined && !scenario.includes(values.only)) continue;
  const request = { ...whole, times: Math.ceil(whole.times * share) };
  const figures: { perSecond: number; cpuMs: number }[][] = pairs.map(() => []);
  for (const each of pairs) await round(each, redis, { ...request, times: Math.ceil(request.times / 4) }); // warm-up
  for (let turn = 1; turn <= rounds; turn += 1) {
    console.error(`${scenario}: round ${String(turn)} of ${String(rounds)}`);
    for (const [index, each] of pairs.entries()) figures[index]?.push(await round(each, redis, request));
  }
  for (const [index, own] of figures.entries()) {
    const ratios = own.map(({ perSecond }, turn) => perSecond / (figures[0]?.[turn]?.perSecond ?? NaN));
    rows.push({
      scenario,
      name: pairs[index]?.name ?? '',
      perSecond: median(own.map(({ perSecond }) => perSecond)),
      ratio: median(ratios),
      least: Math.min(...ratios),
      most: Math.max(...ratios),
      cpu: median(own.map(({ cpuMs }, turn) => cpuMs / (figures[0]?.[turn]?.cpuMs ?? NaN))),
    });
  }
}
for (const each of pairs) await endPair(each);
const left = await memory();
await redis.dispose();
console.log(
  table([
    ['', '', 'per second', 'ratio', 'least', 'most', 'CPU ratio'],
    ...rows.map((row) => [
      row.scenario,
      row.name,
      Math.round(row.perSecond).toLocaleString('en'),
      ...[row.ratio, row.least, row.most, row.cpu].map((figure) => figure.toFixed(2)),
    ]),
  ]),
);
console.log(
  `\nThe store held ${String(Math.round((left - beforeAll) / 1024))} KiB more in the end than before.`,
);
keep('redis', { rounds, share, rows });
