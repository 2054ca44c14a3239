// npm run bench -- compute-cost [--rabbit] [--rounds N] [--calls N] [--check RATIO]: what it costs the compute service in normal operation
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
import { AcceptedRequests } from '#compute/compute/accepted-requests.js';
import { EventWaiters } from '#compute/compute/event-waiters.js';
import { InstanceLocks } from '#compute/compute/instance-locks.js';
import { ComputeManager } from '#compute/compute/manager.js';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { remoteErrors } from '#compute/rpc/remote-errors.js';
import { Liveness } from '#compute/servicegroup/liveness.js';
import { type Compared, compareInTurn, comparisonTable, tellIfMet } from './lib/in-turn.js';
import { keep, startBroker } from './lib/measure.js';

const { values } = parseArgs({
  options: {
    rabbit: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '25' },
    calls: { type: 'string' },
    check: { type: 'string' },
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
      accepted: new AcceptedRequests(new MemoryJournal(), silentLogger, lifetime),
      emit: () => undefined,
      logger: silentLogger,
      lifetime,
      vifPluggingTimeoutMs: 1000,
      recordsPatienceMs: 1000,
      shelvedOffloadMs: null,
      liveness: new Liveness(),
    },
    { maxConcurrentBuilds: 1, maxConcurrentLiveMigrations: 1, recheckMs: 10_000, resizeConfirmWindowMs: 0 },
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
const compared = new Map<string, Compared>();
for (const [method, call] of Object.entries(METHODS)) {
  const ofThis = contenders.map(({ name, api }) => ({ name, run: () => call(api, instance) }));
  compared.set(method, await compareInTurn(ofThis, { rounds, calls, concurrency: CONCURRENCY }));
}
for (const { end } of contenders) await end();
await broker?.dispose();
console.log(
  `${values.rabbit ? 'RabbitMQ' : 'memory'}, ${String(CONCURRENCY)} at a time, client and host in one process; ratios to the first\n`,
);
console.log(comparisonTable(compared));
tellIfMet(compared, values.check);
const measured = Object.fromEntries(compared);
keep('compute-cost', { broker: values.rabbit ? 'rabbit' : 'memory', rounds, calls, measured });
