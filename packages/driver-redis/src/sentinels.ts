import { Redis } from 'ioredis';
import { sentinelOptions } from './client-options.js';
import { type Address, connectorOf } from './connector.js';
import type { StoreHost } from './hosts.js';
import type { RedisSettings } from './options.js';

/** Asks the Sentinels, one after the other, where the store is. @throws why the last of them has not said it */
export async function locateStore(
  settings: RedisSettings,
  sentinels: readonly StoreHost[],
  signal: AbortSignal,
): Promise<Address> {
  let reason: unknown;
  for (const sentinel of sentinels) {
    signal.throwIfAborted();
    try {
      return await askSentinel(settings, sentinel, signal);
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

/** @throws why it does not say where the store is: what went wrong first */
async function askSentinel(
  settings: RedisSettings,
  sentinel: StoreHost,
  signal: AbortSignal,
): Promise<Address> {
  let first: Error | undefined;
  const onError = (error: Error): void => void (first ??= error);
  const client = new Redis({ ...sentinelOptions(settings, sentinel), Connector: connectorOf({ onError }) });
  const end = (): void => {
    client.disconnect();
  };
  client.on('error', onError);
  signal.addEventListener('abort', end);
  try {
    await client.connect();
    const answer = await client.call('sentinel', ['get-master-addr-by-name', settings.masterName]);
    if (Array.isArray(answer)) return { host: String(answer[0]), port: Number(answer[1]) };
  } catch (error) {
    throw first ?? error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
  throw new Error(`The Sentinel at ${sentinel.hostname} knows no store ${settings.masterName}`);
}
