// npm run bench -- rabbit [--rounds N] [--only NAME] [--bare]: the RabbitMQ driver against the least raw amqplib code, two
// processes each and one broker. --bare: the least code with confirms, two connections and one write a turn in place of ours.
import { parseArgs } from 'node:util';
import { keep, median, startBroker, table } from './lib/measure.js';
import { PythonPair } from './lib/python-pair.js';
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
    bare: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);

console.error('starting a broker');
const broker = await startBroker();

const pairs: Pair[] = [];
const own = values.bare ? 'bare' : 'ours';
for (const name of ['floor', own]) pairs.push(await startPair(name, await broker.vhost()));
const rows = [];
for (const [scenario, request] of scenarios) {
  if (values.only !== undefined && !scenario.includes(values.only)) continue;
  const speeds: number[][] = pairs.map(() => []);
  const cpus: number[][] = pairs.map(() => []);
  for (const each of pairs) await round(each, broker, { ...request, times: Math.ceil(request.times / 4) }); // warm-up
  for (let turn = 1; turn <= rounds; turn += 1) {
    console.error(`${scenario}: round ${String(turn)} of ${String(rounds)}`);
    for (const [index, each] of pairs.entries()) {
      const { perSecond, cpuMs } = await round(each, broker, request);
      speeds[index]?.push(perSecond);
      cpus[index]?.push(cpuMs);
    }
  }
  const ratiosOf = (figures: readonly number[][]): number[] =>
    (figures[1] ?? []).map((own, turn) => own / (figures[0]?.[turn] ?? NaN));
  const speed = ratiosOf(speeds);
  rows.push({
    scenario,
    floor: median(speeds[0] ?? []),
    ours: median(speeds[1] ?? []),
    ratio: median(speed),
    least: Math.min(...speed),
    most: Math.max(...speed),
    cpuRatio: median(ratiosOf(cpus)),
  });
}
console.log(
  table([
    ['', 'floor/s', `${own}/s`, 'ratio', 'least', 'most', 'CPU ratio'],
    ...rows.map((row) => [
      row.scenario,
      Math.round(row.floor).toLocaleString('en'),
      Math.round(row.ours).toLocaleString('en'),
      row.ratio.toFixed(2),
      row.least.toFixed(2),
      row.most.toFixed(2),
      row.cpuRatio.toFixed(2),
    ]),
  ]),
);
/** oslo.messaging 14.0.3, if it is there, in turn with ours: 32 calls at a time. */
async function againstPython(): Promise<{ python: number; ours: number; ratio: number }> {
  const python = await PythonPair.start(await broker.vhost());
  const mine = pairs[1];
  const figures: { python: number; ours: number }[] = [];
  for (let turn = 1; turn <= rounds && mine; turn += 1) {
    console.error(`against Python: round ${String(turn)} of ${String(rounds)}`);
    const request: RoundRequest = { kind: 'call', times: 10_000, concurrency: 32, bytes: 0 };
    figures.push({
      python: await python.round(1600, 32),
      ours: (await round(mine, broker, request)).perSecond,
    });
  }
  await python.end();
  return {
    python: median(figures.map((each) => each.python)),
    ours: median(figures.map((each) => each.ours)),
    ratio: median(figures.map((each) => each.ours / each.python)),
  };
}
const python = values.only === undefined && !values.bare ? await againstPython() : undefined;
if (python) {
  console.log(
    `\n32 calls at a time, oslo.messaging in Python: ${String(Math.round(python.python))}/s; ours: ${String(Math.round(python.ours))}/s, ${python.ratio.toFixed(1)} times that`,
  );
}
for (const each of pairs) await endPair(each);
await broker.dispose();
keep(values.bare ? 'rabbit-bare' : 'rabbit', { rounds, rows, python });
