// npm run bench -- rabbit-heap [--calls N]: the heap of a client over many calls on RabbitMQ, and its connections.
import { parseArgs } from 'node:util';
import { keep, startBroker, table } from './lib/measure.js';
import { ask, endPair, startPair } from './lib/rabbit-pair.js';
import type { RoundRequest } from './lib/rabbit-peer.js';

const PARTS = 10;
const { values } = parseArgs({ options: { calls: { type: 'string', default: '1000000' } } });
const calls = Number(values.calls);

console.error('starting a broker');
const broker = await startBroker();
const pair = await startPair('ours', await broker.vhost(), ['--expose-gc']);
const request: RoundRequest = { kind: 'call', times: calls / PARTS, concurrency: 256, bytes: 0 };
await ask(pair.client, { ...request, times: 20_000 }); // warm-up
const rows: { calls: number; heapMiB: number; connections: number; perSecond: number }[] = [];
for (let part = 1; part <= PARTS; part += 1) {
  const { heapBytes = NaN, perSecond } = await ask(pair.client, request);
  const connections = (await broker.ctl('-q', 'list_connections', 'pid', '--no-table-headers')).trim();
  const row = {
    calls: (calls / PARTS) * part,
    heapMiB: heapBytes / 1024 ** 2,
    connections: connections.split('\n').length / 2, // a client and a server
    perSecond,
  };
  rows.push(row);
  console.error(`${String(row.calls)} calls: ${row.heapMiB.toFixed(2)} MiB`);
}
console.log(
  table([
    ['calls', 'heap MiB', 'connections of the client', 'calls/s'],
    ...rows.map((row) => [
      row.calls.toLocaleString('en'),
      row.heapMiB.toFixed(2),
      String(row.connections),
      Math.round(row.perSecond).toLocaleString('en'),
    ]),
  ]),
);
await endPair(pair);
await broker.dispose();
keep('rabbit-heap', { calls, rows });
