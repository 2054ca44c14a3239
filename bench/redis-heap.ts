// npm run bench -- redis-heap [--calls N] [--idle SECONDS]: the heaps of a client and a server over many calls on Redis, what the
// store holds before and after them, and how many commands a second it runs for a server that nobody asks anything.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { heapOverCalls, warmUp } from './lib/heap-parts.js';
import { keep, startRedis, table } from './lib/measure.js';
import { endPair, type Pair, startPair } from './lib/rabbit-pair.js';

const CONNECTION = /^.*\bname=ebbgate-.*$/gm;
const { values } = parseArgs({
  options: { calls: { type: 'string', default: '1000000' }, idle: { type: 'string', default: '60' } },
});
const calls = Number(values.calls);
const idleSeconds = Number(values.idle);
const redis = await startRedis();
// What Redis remembers of its own commands grows with them for a while: how long each kind took, and which were slow.
await redis.ask('config', 'set', 'latency-tracking', 'no', 'slowlog-log-slower-than', -1);

/** A figure of INFO. */
async function figure(section: string, name: string): Promise<number> {
  return Number(new RegExp(`${name}:(\\d+)`).exec(String(await redis.ask('info', section)))?.[1]);
}

/** What the store holds, without the buffers of its connections, of which we have one ourselves. */
async function kib(): Promise<number> {
  return ((await figure('memory', 'used_memory')) - (await figure('memory', 'mem_clients_normal'))) / 1024;
}

const connections = async (): Promise<number> =>
  [...String(await redis.ask('client', 'list')).matchAll(CONNECTION)].length;

/** Resolves when the store has nothing of a pair any more. */
async function end(pair: Pair): Promise<void> {
  await endPair(pair);
  while ((await connections()) > 0) await pause(50);
}

/** Commands that the store runs in a second, those of scripts included. */
async function commandsASecond(): Promise<number> {
  const before = await figure('stats', 'total_commands_processed');
  await pause(idleSeconds * 1000);
  const asked = 1; // by ourselves, for the first figure
  return ((await figure('stats', 'total_commands_processed')) - before - asked) / idleSeconds;
}

/** Both sides, after a first round of calls. */
async function startWarm(): Promise<Pair> {
  const pair = await startPair('written', redis.url(), ['--expose-gc']);
  await warmUp(pair);
  return pair;
}

await end(await startWarm()); // what Redis keeps for itself once it has run scripts is there from now on
const storeBefore = await kib();
const pair = await startWarm();
console.error(`looking at idle processes for ${values.idle} s`);
const idle = await commandsASecond();
const rows = await heapOverCalls(pair, calls, async () => ({
  storeKiB: (await kib()) - storeBefore,
  connections: await connections(),
}));
await end(pair);
const left = (await kib()) - storeBefore;
await redis.dispose();
console.log(
  table([
    ['calls', 'client MiB', 'server MiB', 'store KiB more', 'connections'],
    ...rows.map((row) => [
      row.calls.toLocaleString('en'),
      row.clientMiB.toFixed(2),
      row.serverMiB.toFixed(2),
      row.storeKiB.toFixed(0),
      String(row.connections),
    ]),
  ]),
);
console.log(
  `\nAt the end the store held ${left.toFixed(1)} KiB more than before. Idle, a server and a client: ${idle.toFixed(2)} commands a second.`,
);
keep('redis-heap', { calls, rows, leftKiB: left, idle });
