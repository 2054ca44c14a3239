import type { DrainSequence } from './drain-sequence.js';
import type { StepName } from './drain-report.js';
import type { TaskSnapshot } from './task-registry.js';

/**
 * The states of a service, and the moves between them:
 *
 *     idle ──start──► starting ──► running ──drain──► draining ──► exited
 *      └─────────────────┴───────────drain, failed start ▲
 */
export type ServiceState = 'idle' | 'starting' | 'running' | 'draining' | 'exited';

/** How a service does, at one moment. Plain data, ready for JSON; holds names and ids, no content. */
export interface ServiceSnapshot {
  /** Its name. */
  readonly service: string;
  /** Where it is. */
  readonly host: string;
  /** Where it is on its way from `idle` to `exited`. */
  readonly state: ServiceState;
  /** Takes new requests. */
  readonly ready: boolean;
  /** The step of the drain that is under way. */
  readonly step: StepName | null;
  /** Why it drains, or why its start is held. */
  readonly reason: string | null;
  /** How long the drain has lasted; milliseconds. */
  readonly drainingForMs: number | null;
  /** What is left of `gracefulShutdownTimeoutMs`; null while nothing drains and when there is no limit. */
  readonly budgetLeftMs: number | null;
  /** What runs, the oldest first; once a drain waits for no task any more, what it has left. */
  readonly tasks: readonly TaskSnapshot[];
}

/** @param sequence - its drain, once there is one */
export function snapshotOf(
  now: Pick<ServiceSnapshot, 'service' | 'host' | 'state' | 'reason' | 'tasks'>,
  sequence: DrainSequence | undefined,
): ServiceSnapshot {
  const ready = now.state === 'running';
  if (!sequence) return { ...now, ready, step: null, drainingForMs: null, budgetLeftMs: null };
  const { step = null, elapsedMs, leftMs, left = now.tasks } = sequence;
  const budgetLeftMs = Number.isFinite(leftMs) ? Math.round(leftMs) : null;
  return { ...now, ready, step, drainingForMs: Math.round(elapsedMs), budgetLeftMs, tasks: left };
}

/** Whether a supervisor should leave the process alone (`live`) and send it work (`ready`). */
export interface ServiceHealth {
  /** The process answers. */
  readonly live: boolean;
  /** It takes new requests. */
  readonly ready: boolean;
  /** How it does. */
  readonly snapshot: ServiceSnapshot;
}
