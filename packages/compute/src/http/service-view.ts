import type { ServiceRecord } from '../db/repositories.js';
import { DEFAULT_ZONE } from '../scheduler/filters.js';
import type { Liveness } from '../servicegroup/liveness.js';
import type { ApiVersion } from './microversion.js';
import { timeText } from './times.js';

/** The first version in which a service is named by its uuid, not by a number. */
export const UUID_MINOR = 53;
/** Where services are that are no hosts. */
export const INTERNAL_ZONE = 'internal';
const FORCED_DOWN_MINOR = 11;
/** The first version of ours that tells who has forced a service down, and has whole hosts evacuated. */
export const NOTE_EBBGATE = 2;

/** What a binary is called by clients. */
export function clientBinary(binary: string): string {
  return `nova-${binary}`;
}

/** What a client's binary is called in the records; undefined: there is none of that name. */
export function ownBinary(binary: string): string | undefined {
  return binary.startsWith('nova-') ? binary.slice('nova-'.length) : undefined;
}

/** What a service is named by in the versions of clients. */
export function shownId({ id, uuid }: ServiceRecord, minor: number): string | number {
  return minor >= UUID_MINOR ? uuid : id;
}

/** The zone that a service is shown in: Nova's defaults where it has none. */
export function zoneOf({ availabilityZone, binary }: ServiceRecord): string {
  return availabilityZone ?? (binary === 'compute' ? DEFAULT_ZONE : INTERNAL_ZONE);
}

/** One service, as the version asked for shows it. */
export function serviceView(service: ServiceRecord, liveness: Liveness, version: ApiVersion): object {
  return {
    id: shownId(service, version.minor),
    binary: clientBinary(service.binary),
    host: service.host,
    zone: zoneOf(service),
    status: service.disabled ? 'disabled' : 'enabled',
    state: liveness.isUp(service) ? 'up' : 'down',
    updated_at: timeText(service.reportedAtMs),
    disabled_reason: service.disabledReason,
    ...(version.minor >= FORCED_DOWN_MINOR && { forced_down: service.forcedDown }),
    ...(version.ebbgate >= 1 && drainView(service)),
    ...(version.ebbgate >= NOTE_EBBGATE && noteView(service)),
  };
}

/** How a drain goes. */
export interface DrainView {
  readonly reason: string | null;
  readonly step: string | null;
  /** Null: without a limit. */
  readonly budget_left_ms: number | null;
  readonly task_count: number;
  /** The oldest of them. */
  readonly tasks: readonly TaskView[];
}

/** What a service that drains still does. */
export interface TaskView {
  readonly name: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly age_ms: number;
  /** From 0 to 1. */
  readonly progress: number | null;
}

/** Ours alone: who has forced it down, why and when? */
function noteView({ forcedDownNote: note }: ServiceRecord): object {
  return {
    forced_down_by: note?.by ?? null,
    forced_down_reason: note?.reason ?? null,
    forced_down_at: note ? timeText(note.atMs) : null,
  };
}

/** Ours alone: is it draining, and what does it still do? */
export function drainView({ state, drain }: ServiceRecord): {
  readonly draining: boolean;
  readonly drain: DrainView | null;
} {
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
