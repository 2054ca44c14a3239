import { createTransport } from '@ebbgate/core';
import {
  contractClient,
  defineContract,
  implementContract,
  method,
  RpcClient,
  RpcServer,
} from '@ebbgate/rpc';
import { z } from 'zod';

/** Something to be timed: one call of it, and how to end it. */
export interface Contender {
  readonly run: () => Promise<unknown>;
  readonly end: () => Promise<void>;
}

/** 94 bytes as JSON. */
export const ARGUMENT = {
  id: 'a1b2c3d4',
  name: 'instance-0001',
  flavor: { vcpus: 2, memory_mb: 512 },
  tags: ['x', 'y'],
};

const CONTEXT = { request_id: 'req-11111111-2222-3333-4444-555555555555' };
type Instance = typeof ARGUMENT;
const instance = z.object({
  id: z.string(),
  name: z.string(),
  flavor: z.object({ vcpus: z.number(), memory_mb: z.number() }),
  tags: z.array(z.string()),
});

/** A bare async function call whose argument and result are copied as text: what any isolation in a process costs. */
function floor(): Contender {
  const echo = (instance: Instance): Promise<Instance> => Promise.resolve(instance);
  const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T; // the same value again
  return { run: async () => copy(await echo(copy(ARGUMENT))), end: () => Promise.resolve() };
}

const contract = defineContract({
  version: '1.0',
  methods: {
    echo: method({ since: '1.0', kind: 'call', args: z.object({ instance }), result: instance }),
    sink: method({ since: '1.0', kind: 'cast', args: z.object({ instance }) }),
  },
});

/** The whole stack: contract, dispatcher, context, deadline, duplicate window, slot. */
async function typed(kind: 'call' | 'cast'): Promise<Contender> {
  const transport = createTransport(`memory://${kind}/`);
  const endpoint = implementContract(contract, {
    echo: (_context, args) => args.instance,
    sink: () => undefined,
  });
  const server = new RpcServer(transport, { topic: 'bench', server: 'one' }, [endpoint]);
  await server.start();
  const client = contractClient(new RpcClient(transport, { topic: 'bench' }), contract);
  const args = { instance: ARGUMENT };
  const run = kind === 'call' ? () => client.echo(CONTEXT, args) : () => client.sink(CONTEXT, args);
  return { run, end: () => endOf(server, transport) };
}

/** The same without a contract, as in oslo.messaging. */
async function untyped(): Promise<Contender> {
  const transport = createTransport('memory://untyped/');
  const endpoint = { echo: (_context: unknown, args: { instance: Instance }) => args.instance };
  const server = new RpcServer(transport, { topic: 'bench', server: 'one' }, [endpoint]);
  await server.start();
  const client = new RpcClient(transport, { topic: 'bench' });
  return {
    run: () => client.call(CONTEXT, 'echo', { instance: ARGUMENT }),
    end: () => endOf(server, transport),
  };
}

async function endOf(server: RpcServer, transport: { close(): Promise<void> }): Promise<void> {
  await server.stop();
  await server.wait();
  await transport.close();
}

/** By name; the first one is the floor. */
export const contenders = new Map<string, () => Contender | Promise<Contender>>([
  ['floor: function call copied as JSON', floor],
  ['call, typed contract', () => typed('call')],
  ['call, untyped', untyped],
  ['cast, typed contract', () => typed('cast')],
]);
