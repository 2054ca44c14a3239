import type { Role } from './client-options.js';
import type { StoreHost } from './hosts.js';
import type { RedisSettings } from './options.js';
import { SCRIPTS } from './scripts.js';
import { readTime, type StoreClock } from './store-clock.js';
import { StoreClient } from './store-client.js';
import { ConnectionLostError, refusalOf } from './store-errors.js';

/** The first answers on a connection are slow; of so many the quickest counts. */
const TIMES = 3;

/** A connection that can be used: to a store that takes what is written. @throws what keeps it from that */
export async function openClient(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  role: Role,
  signal: AbortSignal,
): Promise<StoreClient> {
  const client = new StoreClient(settings, hosts, role);
  await client.connect(settings.connectTimeoutMs, signal);
  try {
    await client.call('ping', []); // told of loading, or of no permission
    return client;
  } catch (error) {
    client.end(undefined);
    throw error;
  }
}

/** The same for commands: its scripts are known, its clock is read. */
export async function openCommands(
  settings: RedisSettings,
  hosts: readonly StoreHost[],
  clock: StoreClock,
  signal: AbortSignal,
): Promise<StoreClient> {
  const client = await openClient(settings, hosts, 'commands', signal);
  try {
    if (settings.layout === 'servers') await refuseReplica(client);
    await Promise.all(SCRIPTS.map(({ text }) => permitted(client.call('script', ['load', text]))));
    clock.forget();
    for (let times = 0; times < TIMES; times += 1) await askTime(client, clock);
    return client;
  } catch (error) {
    client.end(undefined);
    throw error;
  }
}

async function refuseReplica(client: StoreClient): Promise<void> {
  const role = await permitted(client.call('role', []));
  if (Array.isArray(role) && String(role[0]) === 'slave')
    throw new ConnectionLostError('It is a replica, which takes nothing');
}

/** Asks for the time of the store. @throws what it refuses that with, or the loss of the connection */
export async function askTime(client: StoreClient, clock: StoreClock): Promise<void> {
  const askedAtMs = performance.now();
  const storeMs = readTime(await client.call('time', []));
  if (storeMs !== undefined) clock.onAnswer(storeMs, askedAtMs, performance.now());
}

/** The reply, or undefined when the store refuses such a question: that is no reason not to use it. */
async function permitted(reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined || refusal === 'lost') throw error;
    return undefined;
  }
}
