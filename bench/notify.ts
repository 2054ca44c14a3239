// npm run bench -- notify [--rounds N] [--count N] [--away SECONDS]: on RabbitMQ, notifications that are fired and forgotten
// beside casts, and a listener that takes batches of 100 beside one that takes them singly. --away 60: after that 5,000 a
// second for a minute without a broker; what the heap does.
import { parseArgs } from 'node:util';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { NotificationListener, Notifier } from '@ebbgate/notify';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { againstFirst, type AgainstFirst, heapInUse, keep, rate, startBroker, table } from './lib/measure.js';

const PAYLOAD = { instance: 'i-00000001', state: 'active', host: 'host-1', memory: 2048 };
const CONTEXT = { request_id: 'req-1', user_id: 'u', project_id: 'p' };
const PER_SECOND = 5_000;
const TICK_MS = 10;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '20000' },
    away: { type: 'string', default: '0' },
  },
});
const rounds = Number(values.rounds);
const count = Number(values.count);

console.error('starting a broker');
const broker = await startBroker();

async function open(): Promise<Transport> {
  const transport = createTransport(await broker.vhost(), { drivers: [rabbitDriver] });
  await transport.connect();
  return transport;
}

/** All at once: what one turn of the event loop has begun leaves together. */
const AT_ONCE = 256;
const others = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Casts to a server that does nothing, without waiting for one before the next. */
async function casts(): Promise<number> {
  const transport = await open();
  const server = new RpcServer(transport, { topic: 't', server: 's' }, [{ note: () => undefined }]);
  await server.start();
  const client = new RpcClient(transport, { topic: 't' });
  const startedAt = performance.now();
  const sends: Promise<void>[] = [];
  for (let n = 1; n <= count; n += 1) {
    sends.push(client.cast(CONTEXT, 'note', PAYLOAD));
    if (n % AT_ONCE === 0) await others();
  }
  await Promise.all(sends);
  const perSecond = (count / (performance.now() - startedAt)) * 1000;
  await server.stop();
  await server.wait();
  await transport.close();
  return perSecond;
}

/** Notifications to a listener that does nothing, likewise. */
async function fired(): Promise<number> {
  const transport = await open();
  const listener = new NotificationListener(transport, [{ topic: 't' }], [{ info: () => undefined }]);
  await listener.start();
  const notifier = new Notifier(transport, { topics: ['t'], fireAndForget: true, maxPending: count });
  const startedAt = performance.now();
  for (let n = 1; n <= count; n += 1) {
    void notifier.info(CONTEXT, 'instance.update', PAYLOAD);
    if (n % AT_ONCE === 0) await others();
  }
  await notifier.flush();
  const perSecond = (count / (performance.now() - startedAt)) * 1000;
  if (notifier.counts.sent !== count)
    throw new Error(`Not all were sent: ${JSON.stringify(notifier.counts)}`);
  await listener.stop();
  await listener.wait();
  await transport.close();
  return perSecond;
}

/** From the start of a listener until it has handled all that waits for it. */
async function handled(
  batch: { readonly size: number; readonly timeoutMs: number } | undefined,
): Promise<number> {
  const transport = await open();
  const notifier = new Notifier(transport, { topics: ['t'] });
  await rate(() => notifier.info(CONTEXT, 'instance.update', PAYLOAD), count, 1000);
  let seen = 0;
  let tell = (): void => undefined;
  const all = new Promise<void>((resolve) => (tell = resolve));
  const take = (more: number): void => {
    seen += more;
    if (seen === count) tell();
  };
  const targets = [{ topic: 't' }];
  const listener = batch
    ? new NotificationListener(transport, targets, [{ info: (all) => take(all.length) }], { batch })
    : new NotificationListener(transport, targets, [{ info: () => take(1) }]);
  const startedAt = performance.now();
  await listener.start();
  await all;
  const perSecond = (count / (performance.now() - startedAt)) * 1000;
  await listener.stop();
  await listener.wait();
  await transport.close();
  return perSecond;
}

interface Compared extends AgainstFirst {
  /** Of the CPU of this process: the clock depends on what else the machine does. */
  readonly ratioByCpu: number;
}

async function compare(contenders: ReadonlyMap<string, () => Promise<number>>): Promise<Compared[]> {
  const speeds = [...contenders].map((): number[] => []);
  const byCpu = [...contenders].map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, [name, run]] of [...contenders].entries()) {
      console.error(`${name}: round ${String(round)} of ${String(rounds)}`);
      const before = process.cpuUsage();
      const perSecond = await run();
      const { user, system } = process.cpuUsage(before);
      if (round === 0) continue; // to get warm
      speeds[index]?.push(perSecond);
      byCpu[index]?.push((count / (user + system)) * 1e6);
    }
  }
  const names = [...contenders.keys()];
  const cpu = againstFirst(names, byCpu);
  return againstFirst(names, speeds).map((one, index) => ({ ...one, ratioByCpu: cpu[index]?.ratio ?? NaN }));
}

/** 5,000 a second to nobody: the heap, ten times on the way. */
async function away(
  seconds: number,
): Promise<{ second: number; heapMiB: number; pending: number; dropped: number }[]> {
  const transport = createTransport('rabbit://127.0.0.1:1/', { drivers: [rabbitDriver] });
  transport.connect().catch(() => undefined); // nobody is there
  const notifier = new Notifier(transport, { fireAndForget: true, timeoutMs: 60_000 });
  notifier.events.on('undelivered', () => undefined);
  const rows: { second: number; heapMiB: number; pending: number; dropped: number }[] = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < seconds * PER_SECOND;) {
    const due = Math.min(((performance.now() - startedAt) / 1000) * PER_SECOND, seconds * PER_SECOND);
    for (; sent < due; sent += 1) void notifier.info(CONTEXT, 'instance.update', PAYLOAD);
    if (sent >= ((rows.length + 1) * seconds * PER_SECOND) / 10) {
      const { pending, dropped } = notifier.counts;
      const second = Math.round(sent / PER_SECOND);
      rows.push({ second, heapMiB: heapInUse() / 1024 ** 2, pending, dropped });
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await transport.close();
  return rows;
}

const sending = await compare(
  new Map([
    ['casts', casts],
    ['notifications, fired and forgotten', fired],
  ]),
);
const listening = await compare(
  new Map([
    ['handled singly', () => handled(undefined)],
    ['handled in batches of 100', () => handled({ size: 100, timeoutMs: 100 })],
  ]),
);
await broker.dispose();
console.log(
  table([
    ['', 'a second', 'ratio', 'least', 'most', 'ratio by CPU'],
    ...[...sending, ...listening].map(({ name, perSecond, ratio, least, most, ratioByCpu }) => [
      name,
      Math.round(perSecond).toLocaleString('en'),
      ...[ratio, least, most, ratioByCpu].map((one) => one.toFixed(2)),
    ]),
  ]),
);
const heap = Number(values.away) > 0 ? await away(Number(values.away)) : [];
if (heap.length > 0)
  console.log(
    `\n${table([
      ['second', 'heap MiB', 'pending', 'dropped'],
      ...heap.map((row) => [
        String(row.second),
        row.heapMiB.toFixed(1),
        row.pending.toLocaleString('en'),
        row.dropped.toLocaleString('en'),
      ]),
    ])}`,
  );
keep('notify', { rounds, count, sending, listening, heap });
