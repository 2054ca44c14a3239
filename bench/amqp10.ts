// npm run bench -- amqp10 [--rounds N] [--only NAME] [--share PART] [--heap CALLS]: the AMQP 1.0 driver against the least raw rhea
// code, two processes each and one RabbitMQ with its plugin. --heap: the heap of our client over so many calls, too.
import { parseArgs } from 'node:util';
import { keep, median, startBroker, table } from './lib/measure.js';
import { ask, endPair, type Pair, round, startPair } from './lib/rabbit-pair.js';
import type { RoundRequest } from './lib/rabbit-peer.js';

const PARTS = 5;
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
    heap: { type: 'string', default: '0' },
  },
});
const rounds = Number(values.rounds);
const share = Number(values.share);
const heapCalls = Number(values.heap);

console.error('starting a broker');
const broker = await startBroker({ plugins: ['rabbitmq_amqp1_0'] });
const urlOf = async (): Promise<string> => (await broker.vhost()).replace('rabbit:', 'amqp10:');
const pairs: Pair[] = [];
for (const name of ['floor', 'ours']) pairs.push(await startPair(name, await urlOf(), ['--expose-gc']));
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

/** MiB in use after each part of the calls. */
const heap: number[] = [];
const client = pairs[1]?.client;
for (let part = 1; part <= PARTS && heapCalls > 0 && client; part += 1) {
  const request: RoundRequest = { kind: 'call', times: heapCalls / PARTS, concurrency: 256, bytes: 0 };
  const { heapBytes = NaN } = await ask(client, request);
  heap.push(heapBytes / 1024 ** 2);
}
if (heap.length > 0)
  console.log(
    `\nMiB of heap after each fifth of ${String(heapCalls)} calls: ${heap.map((each) => each.toFixed(2)).join(', ')}`,
  );
for (const each of pairs) await endPair(each);
await broker.dispose();
keep('amqp10', { rounds, share, rows, heap });
