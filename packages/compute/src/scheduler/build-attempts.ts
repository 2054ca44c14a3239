import type { RequestSpec } from '../objects/request-spec.js';
import type { Dictionary } from '../rpc/kinds.js';
import type { Selection } from './scheduler.js';

/** So many hosts are tried for one instance, the first included; as in Nova. */
export const MAX_BUILD_ATTEMPTS = 3;

/** What was tried so far. */
export interface BuildAttempts {
  /** How many hosts. */
  readonly number: number;
  /** Which. */
  readonly tried: readonly string[];
}

/**
 * The filter properties of a first attempt. They have retry information unless an operator forces one host: then no other
 * is to be tried.
 */
export function firstAttempt(spec: RequestSpec, { host, node }: Selection): Dictionary {
  if ((spec.find('force_hosts') ?? []).length === 1) return { limits: {} };
  return { retry: { num_attempts: 1, hosts: [[host, node]] }, limits: {} };
}

/** The filter properties of one more attempt. */
export function nextAttempt(properties: Dictionary | null, { host, node }: Selection): Dictionary {
  const { number } = buildAttempts(properties);
  const hosts = [...retryHosts(properties), [host, node]];
  return { ...properties, retry: { num_attempts: number + 1, hosts }, limits: {} };
}

/** What the filter properties tell of the attempts. */
export function buildAttempts(properties: Dictionary | null): BuildAttempts {
  const number: unknown = retryOf(properties)?.['num_attempts'];
  const tried = retryHosts(properties).flatMap((pair) => {
    const host: unknown = Array.isArray(pair) ? pair[0] : undefined;
    return typeof host === 'string' ? [host] : [];
  });
  return { number: typeof number === 'number' ? number : tried.length, tried };
}

/** May another host be tried when this one fails? */
export function mayRetry(properties: Dictionary | null): boolean {
  return retryOf(properties) !== undefined;
}

function retryHosts(properties: Dictionary | null): readonly unknown[] {
  const hosts: unknown = retryOf(properties)?.['hosts'];
  return Array.isArray(hosts) ? hosts : [];
}

function retryOf(properties: Dictionary | null): Readonly<Record<string, unknown>> | undefined {
  const retry = properties?.['retry'];
  if (typeof retry !== 'object' || retry === null || Array.isArray(retry)) return undefined;
  return retry as Readonly<Record<string, unknown>>; // an object whose members are looked at one by one
}
