// npm run bench -- drain [--transport rabbit|redis]: a rolling restart under load. Two servers, handlers of 300 ms, 100 calls a
// second; one server is stopped in the middle. Counts what was lost, doubled and failed, and tells the longest wait of a caller.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createTransport } from '@ebbgate/core';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { keep } from './lib/measure.js';
import { startOne } from './lib/one-broker.js';

const CALLS = 400;
const HANDLER_MS = 300;
const EVERY_MS = 10;

const { values } = parseArgs({ options: { transport: { type: 'string', default: 'rabbit' } } });
console.error('starting a broker');
const { url, driver, dispose } = await startOne(values.transport);
const executed = new Map<number, number>();

async function serve(name: string): Promise<() => Promise<void>> {
  const transport = createTransport(url, { drivers: [driver] });
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
const transport = createTransport(url, { drivers: [driver] });
const client = new RpcClient(transport, { topic: 'drain' }, { timeoutMs: 10_000 });
let failed = 0;
let longestMs = 0;

async function call(number: number): Promise<void> {
  const begunAt = performance.now();
  await client.call({}, 'work', { number }).catch(() => {
    failed += 1;
  });
  longestMs = Math.max(longestMs, performance.now() - begunAt);
}

const calls: Promise<unknown>[] = [];
let stopping: Promise<void> | undefined;
console.error(
  `${String(CALLS)} calls, one each ${String(EVERY_MS)} ms; the first server is stopped after half of them`,
);
for (let number = 0; number < CALLS; number += 1) {
  calls.push(call(number));
  if (number === CALLS / 2) stopping = stopFirst();
  await pause(EVERY_MS);
}
await Promise.all([...calls, stopping]);
await stopSecond();
await transport.close();
await dispose();
const lost = CALLS - executed.size;
const doubled = [...executed.values()].filter((times) => times > 1).length;
console.log(
  `of ${String(CALLS)} calls: lost ${String(lost)}, doubled ${String(doubled)}, failed ${String(failed)}; longest wait ${longestMs.toFixed(0)} ms`,
);
keep('drain', { transport: values.transport, calls: CALLS, lost, doubled, failed, longestMs });
process.exitCode = lost + doubled + failed === 0 ? 0 : 1;
