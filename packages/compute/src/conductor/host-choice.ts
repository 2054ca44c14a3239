import type { Records } from '../db/repositories.js';
import { NoValidHostError } from '../errors.js';

/** What a host must be. */
export interface HostWishes {
  /** Only these, in this order, whatever their state; empty: any. */
  readonly forced: readonly string[];
  readonly excluded: readonly string[];
}

/**
 * The hosts that may be tried, the best first: those asked for, or those that take new requests, the emptiest first.
 * @throws NoValidHostError (`ERR_NO_VALID_HOST`)
 */
export async function chooseHosts(
  records: Records,
  { forced, excluded }: HostWishes,
): Promise<readonly string[]> {
  const hosts = forced.length > 0 ? forced : await emptiestFirst(records);
  const chosen = hosts.filter((host) => !excluded.includes(host));
  if (chosen.length === 0) throw new NoValidHostError('No host takes new requests');
  return chosen;
}

/** Does the host take new requests, as its last report says? */
export async function takesRequests(records: Records, host: string): Promise<boolean> {
  const services = await records.services.list('compute');
  return services.some((service) => service.host === host && service.state === 'running');
}

async function emptiestFirst(records: Records): Promise<readonly string[]> {
  const running = (await records.services.list('compute')).filter(({ state }) => state === 'running');
  const counted = await Promise.all(
    running.map(async ({ host }) => ({ host, guests: (await records.instances.find({ host })).length })),
  );
  return counted.sort((a, b) => a.guests - b.guests).map(({ host }) => host);
}
