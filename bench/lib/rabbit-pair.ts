import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { PeerAnswer } from './rabbit-peer.js';

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

/** @param execArgv - for the client's process */
export async function startPair(name: string, url: string, execArgv: string[] = []): Promise<Pair> {
  const server = await peer('server', name, url, []);
  return { name, server, client: await peer('client', name, url, execArgv) };
}

export async function ask(child: ChildProcess, request: object): Promise<PeerAnswer> {
  child.send(request);
  const [answer] = (await once(child, 'message')) as [PeerAnswer]; // what rabbit-peer.ts sends
  return answer;
}

export async function endPair({ client, server }: Pair): Promise<void> {
  for (const child of [client, server]) {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  }
}
