// npm run bench -- drain-cost [--rabbit] [--rounds N] [--calls N] [--check RATIO]: what it costs in normal operation that a service could
// drain (GS-88). Calls a second to a bare RpcServer, to one whose requests are tracked as tasks, and to a Service with
// tracking and a second server on the ops topic. Ratios round by round, the contenders in turn.
import { parseArgs } from 'node:util';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { compareInTurn, comparisonTable, type Contender, tellIfMet } from './lib/in-turn.js';
import { keep, startBroker } from './lib/measure.js';

const { values } = parseArgs({
  options: {
    rabbit: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '9' },
    calls: { type: 'string' },
    check: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const calls = Number(values.calls ?? (values.rabbit ? 4000 : 60_000));
const CONCURRENCY = 32;

interface Ended extends Contender {
  readonly end: () => Promise<unknown>;
}

const endpoint = { echo: (_context: unknown, { text }: { text: string }) => text };
const broker = values.rabbit ? await startBroker() : undefined;

async function open(name: string): Promise<Transport> {
  const url = broker ? await broker.vhost() : `memory://${name}/`;
  return createTransport(url, { drivers: [rabbitDriver] });
}

function caller(transport: Transport): () => Promise<unknown> {
  const client = new RpcClient(transport, { topic: 'compute', server: 'host-1' });
  return () => client.call({}, 'echo', { text: 'x'.repeat(64) });
}

async function bare(): Promise<Ended> {
  const transport = await open('bare');
  const server = new RpcServer(transport, { topic: 'compute', server: 'host-1' }, [endpoint]);
  await server.start();
  const end = async (): Promise<void> => {
    await server.stop();
    await server.wait();
    await transport.close();
  };
  return { name: 'a bare RpcServer', run: caller(transport), end };
}

async function service(name: string, withOps: boolean): Promise<Ended> {
  const transport = await open(withOps ? 'two' : 'tracked');
  const registry = new TaskRegistry();
  const serverOn = (topic: string): RpcServer =>
    new RpcServer(transport, { topic, server: 'host-1' }, [endpoint], {
      interceptors: [taskInterceptor(registry)],
    });
  const whole = new Service({
    name: 'compute',
    host: 'host-1',
    registry,
    manager: { reportState: () => undefined },
    newRequestServer: serverOn('compute'),
    ...(withOps && { opsServer: serverOn('compute-ops') }),
    onExit: () => transport.close(),
  });
  await whole.start();
  return { name, run: caller(transport), end: () => whole.drain('the end') };
}

const contenders = [
  await bare(),
  await service('… whose requests are tasks', false),
  await service('… and with a second server', true),
];
const compared = new Map([
  ['echo', await compareInTurn(contenders, { rounds, calls, concurrency: CONCURRENCY })],
]);
for (const { end } of contenders) await end();
await broker?.dispose();
console.log(
  `${values.rabbit ? 'RabbitMQ' : 'memory'}, ${CONCURRENCY} at a time, client and server in one process; ratios to the first\n`,
);
console.log(comparisonTable(compared));
tellIfMet(compared, values.check);
const measured = Object.fromEntries(compared);
keep('drain-cost', { broker: values.rabbit ? 'rabbit' : 'memory', rounds, calls, measured });
