import type { ServiceRecord } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { ApiVersion } from './microversion.js';

/** The first version in which a service is named by its uuid, not by a number. */
export const UUID_MINOR = 53;
const FORCED_DOWN_MINOR = 11;

/** What a binary is called by clients. */
export function clientBinary(binary: string): string {
  return `nova-${binary}`;
}

/** What a client's binary is called in the records; undefined: there is none of that name. */
export function ownBinary(binary: string): string | undefined {
  return binary.startsWith('nova-') ? binary.slice('nova-'.length) : undefined;
}

/** One service, as the version asked for shows it. */
export function serviceView(service: ServiceRecord, liveness: Liveness, version: ApiVersion): object {
  return {
    id: version.minor >= UUID_MINOR ? service.uuid : service.id,
    binary: clientBinary(service.binary),
    host: service.host,
    zone: service.availabilityZone ?? (service.binary === 'compute' ? 'nova' : 'internal'),
    status: service.disabled ? 'disabled' : 'enabled',
    state: liveness.isUp(service) ? 'up' : 'down',
    updated_at: timeText(service.reportedAtMs),
    disabled_reason: service.disabledReason,
    ...(version.minor >= FORCED_DOWN_MINOR && { forced_down: service.forcedDown }),
    ...(version.ebbgate >= 1 && drainView(service)),
  };
}

/** Ours alone: is it draining, and what does it still do? */
function drainView({ state, drain }: ServiceRecord): object {
  const isDraining = state === 'draining';
  if (!isDraining || !drain) return { draining: isDraining, drain: null };
  const { reason, step, budgetLeftMs, taskCount, tasks } = drain;
  return {
    draining: true,
    drain: {
      reason,
      step,
      budget_left_ms: budgetLeftMs,
      task_count: taskCount,
      tasks: tasks.map(({ name, kind, subject, ageMs, progress }) => ({
        name,
        kind,
        subject,
        age_ms: ageMs,
        progress,
      })),
    },
  };
}

/** As Python's `datetime` writes it: with microseconds, without a zone. */
function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, -1)}000`;
}
