import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Broker, cpuOf } from './measure.js';
import type { PeerAnswer, RoundRequest } from './rabbit-peer.js';

/** Both sides of one contender, a process each. */
export interface Pair {
  readonly name: string;
  readonly server: ChildProcess;
  readonly client: ChildProcess;
}

async function peer(role: string, name: string, url: string, execArgv: string[]): Promise<ChildProcess> {
  const child = fork(new URL('rabbit-peer.js', import.meta.url), [role, name, url], { execArgv });
  await once(child, 'message');
  return child;
}

/** @param execArgv - for both processes */
export async function startPair(name: string, url: string, execArgv: string[] = []): Promise<Pair> {
  const server = await peer('server', name, url, execArgv);
  return { name, server, client: await peer('client', name, url, execArgv) };
}

export async function ask(child: ChildProcess, request: object): Promise<PeerAnswer> {
  child.send(request);
  const [answer] = (await once(child, 'message')) as [PeerAnswer]; // what rabbit-peer.ts sends
  return answer;
}

/** Calls a second, and milliseconds of CPU of client, server and broker together for one. */
export async function round(
  { server, client }: Pair,
  broker: Pick<Broker, 'whereabouts'>,
  request: RoundRequest,
): Promise<{ perSecond: number; cpuMs: number }> {
  const nothing: RoundRequest = { ...request, times: 0 };
  const before = (await ask(server, {})).cpu + (await ask(client, nothing)).cpu + cpuOf(broker);
  const { perSecond, cpu } = await ask(client, request);
  const after = (await ask(server, {})).cpu + cpu + cpuOf(broker);
  return { perSecond, cpuMs: ((after - before) / request.times) * 1000 };
}

export async function endPair({ client, server }: Pair): Promise<void> {
  for (const child of [client, server]) {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  }
}
