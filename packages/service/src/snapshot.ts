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
  /** What runs, the oldest first. */
  readonly tasks: readonly TaskSnapshot[];
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
