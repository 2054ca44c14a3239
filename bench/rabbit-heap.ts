// npm run bench -- rabbit-heap [--calls N]: the heaps of a client and a server over many calls on RabbitMQ, and their connections.
import { parseArgs } from 'node:util';
import { heapOverCalls, warmUp } from './lib/heap-parts.js';
import { keep, startBroker, table } from './lib/measure.js';
import { endPair, startPair } from './lib/rabbit-pair.js';

const { values } = parseArgs({ options: { calls: { type: 'string', default: '1000000' } } });
const calls = Number(values.calls);

console.error('starting a broker');
const broker = await startBroker();
const pair = await startPair('ours', await broker.vhost(), ['--expose-gc']);
await warmUp(pair);
const rows = await heapOverCalls(pair, calls, async () => {
  const connections = (await broker.ctl('-q', 'list_connections', 'pid', '--no-table-headers')).trim();
  return { connections: connections.split('\n').length / 2 }; // a client and a server
});
console.log(
  table([
    ['calls', 'client MiB', 'server MiB', 'connections of the client', 'calls/s'],
    ...rows.map((row) => [
      row.calls.toLocaleString('en'),
      row.clientMiB.toFixed(2),
      row.serverMiB.toFixed(2),
      String(row.connections),
      Math.round(row.perSecond).toLocaleString('en'),
    ]),
  ]),
);
await endPair(pair);
await broker.dispose();
keep('rabbit-heap', { calls, rows });
