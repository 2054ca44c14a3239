// npm run bench -- amqp10-heap [--calls N]: the heaps of a client and a server over many calls on RabbitMQ by AMQP 1.0.
import { parseArgs } from 'node:util';
import { heapOverCalls, warmUp } from './lib/heap-parts.js';
import { keep, startBroker, table } from './lib/measure.js';
import { endPair, startPair } from './lib/rabbit-pair.js';

const { values } = parseArgs({ options: { calls: { type: 'string', default: '300000' } } });
const calls = Number(values.calls);

console.error('starting a broker');
const broker = await startBroker({ plugins: ['rabbitmq_amqp1_0'] });
const url = (await broker.vhost()).replace('rabbit:', 'amqp10:');
const pair = await startPair('ours', url, ['--expose-gc']);
await warmUp(pair);
const rows = await heapOverCalls(pair, calls, async () => ({}));
console.log(
  table([
    ['calls', 'client MiB', 'server MiB', 'calls/s'],
    ...rows.map((row) => [
      row.calls.toLocaleString('en'),
      row.clientMiB.toFixed(2),
      row.serverMiB.toFixed(2),
      Math.round(row.perSecond).toLocaleString('en'),
    ]),
  ]),
);
await endPair(pair);
await broker.dispose();
keep('amqp10-heap', { calls, rows });
