import { MessagingError } from '@ebbgate/core';
import type { CallerContext } from '@ebbgate/rpc';
import type { ServiceRecord } from '../db/repositories.js';
import { HostDownError, UnexpectedStateError } from '../errors.js';
import type { ActionParts } from './action-parts.js';

/** Why, when nothing is said. */
export const DRAIN_REASON = 'an operator has asked for it';

/** What the hosts of others say to what is ours alone. */
const UNKNOWN: ReadonlySet<string> = new Set(['ERR_UNSUPPORTED_VERSION', 'ERR_NO_SUCH_METHOD']);

/**
 * Has a compute host drain, as SIGTERM to its process does, wherever that is; resolves when the drain has begun, also when
 * it had before.
 * @throws HostDownError (`ERR_HOST_DOWN`); UnexpectedStateError (`ERR_UNEXPECTED_STATE`) for a host that cannot be told, as
 * those of Nova
 */
export async function drainHost(
  { computeApi, liveness }: Pick<ActionParts, 'computeApi' | 'liveness'>,
  context: CallerContext,
  service: ServiceRecord,
  reason: string,
): Promise<void> {
  const { host, state } = service;
  if (!liveness.isUp(service)) throw new HostDownError(`Compute service of ${host} is down`);
  if (state === 'draining') return;
  try {
    await computeApi.drainHost(context, host, reason);
  } catch (error) {
    if (!(error instanceof MessagingError) || !UNKNOWN.has(error.code)) throw error;
    throw new UnexpectedStateError(`Host ${host} cannot be told to drain: its process needs a signal`);
  }
}
