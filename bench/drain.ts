// npm run bench -- drain: a rolling restart under load. Two servers, handlers of 300 ms, 100 calls a second; one server is
// stopped in the middle. Counts what was lost, doubled and failed.
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { keep, startBroker } from './lib/measure.js';

const CALLS = 400;
const HANDLER_MS = 300;
const EVERY_MS = 10;

console.error('starting a broker');
const broker = await startBroker();
const url = await broker.vhost();
const executed = new Map<number, number>();

async function serve(name: string): Promise<() => Promise<void>> {
  const transport = createTransport(url, { drivers: [rabbitDriver] });
  const endpoint = {
    async work(_: unknown, { number }: { number: number }) {
      executed.set(number, (executed.get(number) ?? 0) + 1);
      await pause(HANDLER_MS);
      return number;
    },
  };
  const server = new RpcServer(transport, { topic: 'drain', server: name }, [endpoint]);
  await server.start();
  return async () => {
    await server.stop();
    await server.wait();
    await transport.close();
  };
}

const stopFirst = await serve('first');
const stopSecond = await serve('second');
const transport = createTransport(url, { drivers: [rabbitDriver] });
const client = new RpcClient(transport, { topic: 'drain' }, { timeoutMs: 10_000 });
let failed = 0;
const calls: Promise<unknown>[] = [];
let stopping: Promise<void> | undefined;
console.error(
  `${String(CALLS)} calls, one each ${String(EVERY_MS)} ms; the first server is stopped after half of them`,
);
for (let number = 0; number < CALLS; number += 1) {
  calls.push(
    client.call({}, 'work', { number }).catch(() => {
      failed += 1;
    }),
  );
  if (number === CALLS / 2) stopping = stopFirst();
  await pause(EVERY_MS);
}
await Promise.all([...calls, stopping]);
await stopSecond();
await transport.close();
await broker.dispose();
const lost = CALLS - executed.size;
const doubled = [...executed.values()].filter((times) => times > 1).length;
console.log(
  `of ${String(CALLS)} calls: lost ${String(lost)}, doubled ${String(doubled)}, failed ${String(failed)}`,
);
keep('drain', { calls: CALLS, lost, doubled, failed });
process.exitCode = lost + doubled + failed === 0 ? 0 : 1;
