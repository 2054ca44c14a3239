// What calls and servers weigh; started by memory.ts with --expose-gc.
import { createTransport } from '@ebbgate/core';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { heapInUse, rate } from './measure.js';
import { ARGUMENT } from './memory-contenders.js';

/**
 * Bytes of one call that waits for its reply. `queued`: its request waits at the broker, in this process; otherwise the
 * request has been taken and forgotten, and what is left is what any driver leaves in the caller's process.
 */
async function pendingCall(count: number, queued: boolean): Promise<number> {
  const transport = createTransport('memory://pending/');
  const source = { exchange: 'openstack', topic: 't', server: 's' };
  const listener = await transport.listen(source, { credit: 16 }, (delivery) => {
    if (!queued) void delivery.accept();
  });
  const client = new RpcClient(transport, { topic: 't', server: 's' }, { timeoutMs: 600_000 });
  const calls: Promise<unknown>[] = [client.call(undefined, 'never', { instance: ARGUMENT })];
  await new Promise((resolve) => setImmediate(resolve));
  const before = heapInUse();
  for (let i = 0; i < count; i += 1) calls.push(client.call(undefined, 'never', { instance: ARGUMENT }));
  for (let i = 0; i < count / 128; i += 1) await new Promise((resolve) => setImmediate(resolve));
  const bytes = (heapInUse() - before) / count;
  const settled = Promise.allSettled(calls);
  await listener.close();
  await transport.close();
  await settled;
  return bytes;
}

async function idleServer(count: number): Promise<number> {
  const transport = createTransport('memory://idle/');
  const servers: RpcServer[] = [];
  const before = heapInUse();
  for (let i = 0; i < count; i += 1) {
    const server = new RpcServer(transport, { topic: 't', server: `s${String(i)}` }, [
      { ping: () => 'pong' },
    ]);
    await server.start();
    servers.push(server);
  }
  const bytes = (heapInUse() - before) / count;
  await transport.close();
  return bytes;
}

/** Heap in use after each fifth of so many calls. */
async function longRun(calls: number): Promise<number[]> {
  const transport = createTransport('memory://long/');
  const server = new RpcServer(transport, { topic: 't', server: 's' }, [
    { echo: (_: unknown, args: object) => args },
  ]);
  await server.start();
  const client = new RpcClient(transport, { topic: 't' });
  const heap: number[] = [];
  for (let part = 0; part < 5; part += 1) {
    await rate(() => client.call(undefined, 'echo', { instance: ARGUMENT }), calls / 5, 32);
    heap.push(heapInUse());
  }
  await transport.close();
  return heap;
}

const calls = Number(process.argv[2]);
const result = {
  pendingCallBytes: await pendingCall(100_000, false),
  queuedCallBytes: await pendingCall(100_000, true),
  idleServerBytes: await idleServer(1000),
  heapBytes: await longRun(calls),
  calls,
};
process.send?.(result);
