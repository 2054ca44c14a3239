// npm run bench -- amqp10 [--rounds N] [--only NAME] [--share PART]: the AMQP 1.0 driver against the least raw rhea code, two
// processes each and one RabbitMQ with its plugin.
import { parseArgs } from 'node:util';
import { keep, median, startBroker, table } from './lib/measure.js';
import { endPair, type Pair, round, startPair } from './lib/rabbit-pair.js';
import type { RoundRequest } from './lib/rabbit-peer.js';

const scenarios = new Map<string, RoundRequest>([
  ['32 calls at a time', { kind: 'call', times: 12_000, concurrency: 32, bytes: 0 }],
  ['256 calls at a time', { kind: 'call', times: 20_000, concurrency: 256, bytes: 0 }],
  ['casts, 32 at a time', { kind: 'cast', times: 12_000, concurrency: 32, bytes: 0 }],
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

console.error('starting a broker');
const broker = await startBroker({ plugins: ['rabbitmq_amqp1_0'] });
const urlOf = async (): Promise<string> => (await broker.vhost()).replace('rabbit:', 'amqp10:');
const pairs: Pair[] = [];
for (const name of ['floor', 'ours']) pairs.push(await startPair(name, await urlOf()));
const rows = [];
for (const [scenario, whole] of scenarios) {
  if (values.only !== undefined && !scenario.includes(values.only)) continue;
  const request = { ...whole, times: Math.ceil(whole.times * share) };
  const figures: { perSecond: number; cpuMs: number }[][] = pairs.map(() => []);
  for (const each of pairs) await round(each, broker, { ...request, times: Math.ceil(request.times / 4) }); // warm-up
  for (let turn = 1; turn <= rounds; turn += 1) {
    console.error(`${scenario}: round ${String(turn)} of ${String(rounds)}`);
    for (const [index, each] of pairs.entries()) figures[index]?.push(await round(each, broker, request));
  }
  const [floor = [], ours = []] = figures;
  const ratios = ours.map(({ perSecond }, turn) => perSecond / (floor[turn]?.perSecond ?? NaN));
  rows.push({
    scenario,
    floor: median(floor.map(({ perSecond }) => perSecond)),
    ours: median(ours.map(({ perSecond }) => perSecond)),
    ratio: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    cpuRatio: median(ours.map(({ cpuMs }, turn) => cpuMs / (floor[turn]?.cpuMs ?? NaN))),
  });
}
console.log(
  table([
    ['', 'floor/s', 'ours/s', 'ratio', 'least', 'most', 'CPU ratio'],
    ...rows.map((row) => [
      row.scenario,
      Math.round(row.floor).toLocaleString('en'),
      Math.round(row.ours).toLocaleString('en'),
      ...[row.ratio, row.least, row.most, row.cpuRatio].map((figure) => figure.toFixed(2)),
    ]),
  ]),
);

for (const each of pairs) await endPair(each);
await broker.dispose();
keep('amqp10', { rounds, share, rows });
