import type { StoreClient } from './store-client.js';

/** What is asked for; a store that lets nobody read its settings is used as it is. */
const NAMES = ['maxmemory', 'maxmemory-policy', 'appendonly', 'save'] as const;

/**
 * Settings of the store that defeat delivery, in words, as one text; empty when there are none, or when they may not be read
 * (REDIS-14).
 */
export async function unsuitableSettings(client: StoreClient): Promise<string> {
  const values = new Map<string, string>();
  try {
    for (const name of NAMES) {
      const reply = await client.call('config', ['get', name]);
      if (Array.isArray(reply)) values.set(name, String(reply[1]));
    }
  } catch {
    return ''; // not permitted, not known, or lost meanwhile
  }
  return faultsOf(values).join('; ');
}

function faultsOf(values: ReadonlyMap<string, string>): readonly string[] {
  const policy = values.get('maxmemory-policy') ?? 'noeviction';
  const isBounded = (values.get('maxmemory') ?? '0') !== '0';
  const rules: readonly (readonly [boolean, string])[] = [
    [
      isBounded && policy.startsWith('allkeys-'),
      `maxmemory-policy is ${policy}: when memory is short the store drops whole lists of messages; set noeviction`,
    ],
    [
      isBounded && policy.startsWith('volatile-'),
      `maxmemory-policy is ${policy}: when memory is short the store drops fanouts and replies; set noeviction`,
    ],
    [
      values.get('appendonly') === 'no' && values.get('save') === '',
      'neither appendonly nor save is set: a restart of the store loses what is queued',
    ],
  ];
  return rules.filter(([when]) => when).map(([, text]) => text);
}
