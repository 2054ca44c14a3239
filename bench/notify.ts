// npm run bench -- notify [--rounds N] [--count N] [--away SECONDS]: on RabbitMQ, notifications that are fired and forgotten
// beside casts; amqplib alone that takes notifications and does nothing with them, beside a listener that takes them singly and
// one that takes batches of 100; and both with a store that needs 1 ms for each transaction, one at a time. --away 60: after
// that 5,000 a second for a minute without a broker; what the heap does.
import { parseArgs } from 'node:util';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { NotificationListener, Notifier } from '@ebbgate/notify';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { connect } from 'amqplib';
import { againstFirst, type AgainstFirst, heapInUse, keep, rate, startBroker, table } from './lib/measure.js';

const PAYLOAD = { instance: 'i-00000001', state: 'active', host: 'host-1', memory: 2048 };
const CONTEXT = { request_id: 'req-1', user_id: 'u', project_id: 'p' };
const PER_SECOND = 5_000;
const TICK_MS = 10;
const BATCH = { size: 100, timeoutMs: 100 };
/** What a listener has at the broker of what is sent: its slots, as many again, and what waits to go back. */
const PREFETCH = 264;

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

async function open(url?: string): Promise<Transport> {
  const transport = createTransport(url ?? (await broker.vhost()), { drivers: [rabbitDriver] });
  await transport.connect();
  return transport;
}

/** Of one round: by the clock, which depends on what else the machine does, and by the CPU of this process. */
interface Speed {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

/** @param work - handles or sends `count` */
async function measured(work: () => Promise<unknown>): Promise<Speed> {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await work();
  const perSecond = (count / (performance.now() - startedAt)) * 1000;
  const { user, system } = process.cpuUsage(before);
  return { perSecond, perCpuSecond: (count / (user + system)) * 1e6 };
}

/** All at once: what one turn of the event loop has begun leaves together. */
const AT_ONCE = 256;
const others = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Casts to a queue that nobody reads now, without waiting for one before the next. */
async function casts(): Promise<Speed> {
  const transport = await open();
  const server = new RpcServer(transport, { topic: 't', server: 's' }, [{ note: () => undefined }]);
  await server.start(); // declares it
  await server.stop();
  await server.wait();
  const client = new RpcClient(transport, { topic: 't' });
  await client.cast(CONTEXT, 'note', PAYLOAD); // the exchange is declared, the channel open
  const speed = await measured(async () => {
    const sends: Promise<void>[] = [];
    for (let n = 1; n <= count; n += 1) {
      sends.push(client.cast(CONTEXT, 'note', PAYLOAD));
      if (n % AT_ONCE === 0) await others();
    }
    await Promise.all(sends);
  });
  await transport.close();
  return speed;
}

/** Notifications that nobody hears now, likewise. */
async function fired(): Promise<Speed> {
  const transport = await open();
  await new Notifier(transport, { topics: ['t'] }).info(CONTEXT, 'instance.update', PAYLOAD); // likewise, and the queue
  const notifier = new Notifier(transport, { topics: ['t'], fireAndForget: true, maxPending: count });
  const speed = await measured(async () => {
    for (let n = 1; n <= count; n += 1) {
      void notifier.info(CONTEXT, 'instance.update', PAYLOAD);
      if (n % AT_ONCE === 0) await others();
    }
    await notifier.flush();
  });
  if (notifier.counts.sent !== count)
    throw new Error(`Not all were sent: ${JSON.stringify(notifier.counts)}`);
  await transport.close();
  return speed;
}

/** A virtual host in which so many wait. */
async function filled(): Promise<string> {
  const url = await broker.vhost();
  const transport = await open(url);
  const notifier = new Notifier(transport, { topics: ['t'] });
  await rate(() => notifier.info(CONTEXT, 'instance.update', PAYLOAD), count, 1000);
  await transport.close();
  return url;
}

/** Counts what is handled, and tells when that is all. */
function counter(): { readonly take: (more: number) => void; readonly all: Promise<void> } {
  let seen = 0;
  let tell = (): void => undefined;
  const all = new Promise<void>((resolve) => (tell = resolve));
  const take = (more: number): void => {
    seen += more;
    if (seen === count) tell();
  };
  return { take, all };
}

/** The least that a consumer can do: nothing is read, and one acknowledgement is for a hundred. */
async function amqplibAlone(): Promise<Speed> {
  const model = await connect((await filled()).replace('rabbit:', 'amqp:'));
  const channel = await model.createChannel();
  await channel.prefetch(PREFETCH);
  const { take, all } = counter();
  let seen = 0;
  const speed = await measured(async () => {
    await channel.consume('t.info', (message) => {
      seen += 1;
      if (message && (seen % BATCH.size === 0 || seen === count)) channel.ack(message, true);
      take(1);
    });
    await all;
  });
  await model.close();
  return speed;
}

/** A store that needs a while for each transaction, one after the other. */
class SlowStore {
  #last = Promise.resolve();

  transaction(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setTimeout(resolve, 1)));
    return this.#last;
  }
}

/** From the start of a listener until it has handled all that waits for it. */
async function handled(isBatched: boolean, store?: SlowStore): Promise<Speed> {
  const transport = await open(await filled());
  const { take, all } = counter();
  const handle = async (many: number): Promise<void> => {
    await store?.transaction();
    take(many);
  };
  const targets = [{ topic: 't' }];
  const listener = isBatched
    ? new NotificationListener(transport, targets, [{ info: (all) => handle(all.length) }], { batch: BATCH })
    : new NotificationListener(transport, targets, [{ info: () => handle(1) }]);
  const speed = await measured(async () => {
    await listener.start();
    await all;
  });
  await listener.stop();
  await listener.wait();
  await transport.close();
  return speed;
}

interface Compared extends AgainstFirst {
  /** Microseconds of the CPU of this process for each: the median. */
  readonly cpuUs: number;
  readonly ratioByCpu: number;
}

async function compare(contenders: ReadonlyMap<string, () => Promise<Speed>>): Promise<Compared[]> {
  const speeds = [...contenders].map((): Speed[] => []);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, [name, run]] of [...contenders].entries()) {
      console.error(`${name}: round ${String(round)} of ${String(rounds)}`);
      const speed = await run();
      if (round > 0) speeds[index]?.push(speed); // the first to get warm
    }
  }
  const names = [...contenders.keys()];
  const byClock = speeds.map((own) => own.map(({ perSecond }) => perSecond));
  const byCpu = speeds.map((own) => own.map(({ perCpuSecond }) => perCpuSecond));
  const cpu = againstFirst(names, byCpu);
  return againstFirst(names, byClock).map((one, index) => ({
    ...one,
    cpuUs: 1e6 / (cpu[index]?.perSecond ?? NaN),
    ratioByCpu: cpu[index]?.ratio ?? NaN,
  }));
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
    ['handled singly', () => handled(false)],
    ['handled in batches of 100', () => handled(true)],
    ['amqplib alone', amqplibAlone],
  ]),
);
const storing = await compare(
  new Map([
    ['stored singly', () => handled(false, new SlowStore())],
    ['stored in batches of 100', () => handled(true, new SlowStore())],
  ]),
);
await broker.dispose();
console.log(
  table([
    ['', 'a second', 'ratio', 'least', 'most', 'CPU µs', 'ratio by CPU'],
    ...[...sending, ...listening, ...storing].map(
      ({ name, perSecond, ratio, least, most, cpuUs, ratioByCpu }) => [
        name,
        Math.round(perSecond).toLocaleString('en'),
        ...[ratio, least, most].map((one) => one.toFixed(2)),
        cpuUs.toFixed(1),
        ratioByCpu.toFixed(2),
      ],
    ),
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
keep('notify', { rounds, count, sending, listening, storing, heap });
