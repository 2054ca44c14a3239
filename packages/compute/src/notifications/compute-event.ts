import type { RequestContext } from '@ebbgate/core';
import type { Flavor } from '../objects/flavor.js';
import type { Instance } from '../objects/instance.js';

/** What is done to instances, as notifications name it: `instance.power_off.start`. */
export const INSTANCE_ACTIONS = [
  'create',
  'delete',
  'shutdown',
  'power_on',
  'power_off',
  'reboot',
  'rebuild',
  'pause',
  'unpause',
  'suspend',
  'resume',
  'rescue',
  'unrescue',
  'snapshot',
  'shelve',
  'shelve_offload',
  'unshelve',
  'trigger_crash_dump',
  'volume_attach',
  'share_attach',
  'share_detach',
  'resize_prep',
  'resize',
  'resize_finish',
  'resize_confirm',
  'resize_revert',
  'live_migration_pre',
  'live_migration_post',
  'live_migration_post_dest',
  'live_migration_rollback',
  'live_migration_rollback_dest',
  'live_migration_abort',
  'live_migration_force_complete',
] as const;

/** One of {@link INSTANCE_ACTIONS}. */
export type InstanceAction = (typeof INSTANCE_ACTIONS)[number];

/** Where an action is. */
export type ActionPhase = 'start' | 'end' | 'error';

/** The actions of which upstream also tells that they have failed. */
export const FAILING_ACTIONS = [
  'create',
  'reboot',
  'rebuild',
  'resize',
  'volume_attach',
  'share_attach',
  'share_detach',
] as const;

/** What an API tells that it was asked for; these have no phases. */
export const API_ACTIONS = ['evacuate', 'lock', 'unlock'] as const;

/** What conductors do, as notifications name it. */
export const CONDUCTOR_TASKS = ['build_instances', 'migrate_server', 'rebuild_server'] as const;

/** Something is being done to an instance. */
export interface InstanceEvent {
  /** Of whoever has asked for it. */
  readonly context: RequestContext;
  /** What is done. */
  readonly action: InstanceAction;
  /** Whether it begins, has ended, or has failed. */
  readonly phase: ActionPhase;
  /** As it is now. */
  readonly instance: Instance;
  /** In the phase `error`: what it failed with. */
  readonly error?: unknown;
  /** Of a snapshot: the image. */
  readonly imageId?: string;
  /** Of a rescue: the image from which the guest is started; null: its own. */
  readonly rescueImage?: string | null;
  /** Of `resize_prep`: the size to come. */
  readonly newFlavor?: Flavor;
  /** Of `volume_attach`. */
  readonly volumeId?: string;
  /** Of `share_attach` and `share_detach`. */
  readonly shareId?: string;
}

/** An API was asked for something. */
export interface ApiEvent extends Pick<InstanceEvent, 'context' | 'instance'> {
  /** What it was asked for. */
  readonly action: (typeof API_ACTIONS)[number];
}

/** What a conductor could not do. */
export interface TaskEvent {
  /** Of whoever has asked for it. */
  readonly context: RequestContext;
  /** What was to be done. */
  readonly task: (typeof CONDUCTOR_TASKS)[number];
  /** To which instance. */
  readonly instanceUuid: string;
  /** What the instance is then; null: not known. */
  readonly state: string | null;
  /** What it failed with. */
  readonly error: unknown;
}

/** The state of an instance has been written. */
export interface StateEvent {
  /** As it is now. */
  readonly instance: Instance;
  /** What it was before. */
  readonly before: Pick<Instance, 'get'>;
}

/** Takes what happens to those who listen outside. Never throws, and nothing waits for it. */
export type Emit<Event> = (event: Event) => void;

/** As `emit`, but nothing is told any more once the signal has aborted. */
export function untilAborted<Event>(signal: AbortSignal, emit: Emit<Event>): Emit<Event> {
  return (event) => {
    if (!signal.aborted) emit(event);
  };
}

/** For whoever has nobody to tell. */
export const toNobody: Emit<unknown> = () => undefined;
