// npm run bench -- compute-cost [--rabbit] [--rounds N] [--calls N]: what it costs the compute service in normal operation
// that it could drain (GS-88): calls a second to its endpoint in a bare RpcServer, in a host without the ops server, and
// in a host as it is. Two methods: one without arguments, and one with an instance. Ratios round by round, in turn.
import { parseArgs } from 'node:util';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  ComputeApi,
  ComputeHost,
  ConductorApi,
  CONTROL_EXCHANGE,
  FakeNetworking,
  FakeVirtDriver,
  HypervisorNetwork,
  type Instance,
  MemoryRecords,
  RPC_TOPIC,
} from '@ebbgate/compute';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcServer } from '@ebbgate/rpc';
import { TaskRegistry } from '@ebbgate/service';
import { EventWaiters } from '#compute/compute/event-waiters.js';
import { InstanceLocks } from '#compute/compute/instance-locks.js';
import { ComputeManager } from '#compute/compute/manager.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { remoteErrors } from '#compute/rpc/remote-errors.js';
import { Liveness } from '#compute/servicegroup/liveness.js';
import { againstFirst, keep, rate, startBroker, table } from './lib/measure.js';

const { values } = parseArgs({
  options: {
    rabbit: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '25' },
    calls: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const calls = Number(values.calls ?? (values.rabbit ? 1500 : 10_000));
const CONCURRENCY = 32;
const HOST = 'compute-1';

const broker = values.rabbit ? await startBroker() : undefined;
const { instance } = (await RecordedJob.read()).bootRequest(1, HOST);

interface Contender {
  readonly name: string;
  readonly api: ComputeApi;
  readonly end: () => Promise<unknown>;
}

/** What hosts are made of, and a transport of their own. */
async function parts(name: string) {
  const url = broker ? await broker.vhost() : `memory://${name}/`;
  const open = (): Transport =>
    createTransport(url, { drivers: [rabbitDriver], controlExchange: CONTROL_EXCHANGE });
  const networking = new FakeNetworking({ notify: () => Promise.resolve(), onError: () => undefined });
  const records = new MemoryRecords(() => undefined);
  const network = new HypervisorNetwork();
  const virt = new FakeVirtDriver(HOST, { network, networking, spawnMs: 0, migrationMs: 0 });
  await virt.spawn(instance);
  return { open, records, networking, virt };
}

async function bare(): Promise<Contender> {
  const { open, ...its } = await parts('bare');
  const transport = open();
  const lifetime = new AbortController().signal;
  const computeApi = new ComputeApi(transport);
  const manager = new ComputeManager(
    {
      ...its,
      host: HOST,
      computeApi,
      conductorApi: new ConductorApi(transport),
      tasks: new TaskRegistry(),
      events: new EventWaiters(),
      locks: new InstanceLocks(lifetime),
      logger: silentLogger,
      lifetime,
      vifPluggingTimeoutMs: 1000,
      recordsPatienceMs: 1000,
      liveness: new Liveness(),
    },
    { maxConcurrentBuilds: 1, maxConcurrentLiveMigrations: 1, recheckMs: 10_000 },
  );
  const options = { serializer: objectSerializer, remoteErrors };
  const server = new RpcServer(transport, { topic: RPC_TOPIC, server: HOST }, [manager.endpoint], options);
  await server.start();
  const client = open(); // its own, as the others have it
  const end = async (): Promise<void> => {
    await server.stop();
    await server.wait();
    await Promise.all([transport.close(), client.close()]);
  };
  return { name: 'the endpoint in a bare RpcServer', api: new ComputeApi(client), end };
}

async function host(name: string, withOps: boolean): Promise<Contender> {
  const { open, ...its } = await parts(withOps ? 'two' : 'one');
  const options = { ...its, name: HOST, openTransport: open, logger: silentLogger };
  const whole = new ComputeHost({ ...options, ...(!withOps && { opsTopic: null }) });
  await whole.start();
  const transport = open();
  const end = async (): Promise<void> => {
    await whole.terminate();
    await transport.close();
  };
  return { name, api: new ComputeApi(transport), end };
}

const METHODS: Readonly<Record<string, (api: ComputeApi, instance: Instance) => Promise<unknown>>> = {
  get_host_uptime: (api) => api.call({}, 'get_host_uptime', HOST, {}),
  get_console_output: (api, one) =>
    api.call({}, 'get_console_output', HOST, { instance: one, tail_length: 10 }),
};

const contenders = [
  await bare(),
  await host('a host: its requests are tasks', false),
  await host('… and with the ops server', true),
];
/** Calls a second, and calls a second of CPU: of this process, so without the broker. */
async function measure(call: () => Promise<unknown>): Promise<readonly [number, number]> {
  const before = process.cpuUsage();
  const perSecond = await rate(call, calls, CONCURRENCY);
  const { user, system } = process.cpuUsage(before);
  return [perSecond, (calls / (user + system)) * 1e6];
}

const measured: Record<string, unknown> = {};
const lines: string[][] = [['', 'a second', 'ratio', 'least', 'most', 'CPU µs', 'ratio by CPU']];
for (const [method, call] of Object.entries(METHODS)) {
  for (const { api } of contenders) await rate(() => call(api, instance), calls, CONCURRENCY); // warm-up
  const speeds = contenders.map(() => [] as number[]);
  const byCpu = contenders.map(() => [] as number[]);
  for (let round = 0; round < rounds; round += 1) {
    // Each round begins with another one, so that none always comes after the same neighbour.
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const index = (round + turn) % contenders.length;
      const contender = contenders[index];
      if (!contender) continue;
      const [perSecond, perCpuSecond] = await measure(() => call(contender.api, instance));
      speeds[index]?.push(perSecond);
      byCpu[index]?.push(perCpuSecond);
    }
  }
  const names = contenders.map(({ name }) => name);
  const rows = againstFirst(names, speeds);
  const cpuRows = againstFirst(names, byCpu);
  measured[method] = { rows, cpuRows };
  lines.push([method, '', '', '', '', '', '']);
  for (const [index, { name, perSecond, ratio, least, most }] of rows.entries()) {
    const ratios = [ratio, least, most].map((one) => one.toFixed(2));
    const { perSecond: perCpuSecond = NaN, ratio: cpuRatio = NaN } = cpuRows[index] ?? {};
    const cpu = [(1e6 / perCpuSecond).toFixed(1), cpuRatio.toFixed(2)];
    lines.push([`  ${name}`, Math.round(perSecond).toLocaleString('en'), ...ratios, ...cpu]);
  }
}
for (const { end } of contenders) await end();
await broker?.dispose();
console.log(
  `${values.rabbit ? 'RabbitMQ' : 'memory'}, ${String(CONCURRENCY)} at a time, client and host in one process; ratios to the first\n`,
);
console.log(table(lines));
keep('compute-cost', { broker: values.rabbit ? 'rabbit' : 'memory', rounds, calls, measured });
