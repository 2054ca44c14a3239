import type { Records, ServiceRecord } from '../db/repositories.js';
import { isHidden } from '../cells/cell-access.js';
import { RecordNotFoundError } from '../errors.js';
import { faultText } from '../objects/instance-fault.js';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { isFinal, type TaskState } from '../objects/states.js';
import type { Liveness } from '../servicegroup/liveness.js';
import { isLost, REBUILDABLE } from './rebuilds.js';

/**
 * What becomes of an instance of a host that has failed. `waiting`: nobody is at it; `under_way`: another host is being
 * found, or is at it; `evacuated`: it is elsewhere; `failed`: that did not succeed, and can be tried again; `unsuitable`: it
 * cannot be made anew as it is.
 */
export type EvacuationState = 'waiting' | 'under_way' | 'evacuated' | 'failed' | 'unsuitable';

/** One instance of a host that has failed. */
export interface InstanceEvacuation {
  readonly uuid: string;
  /** What is done to it, or was when its host failed. */
  readonly task: TaskState;
  readonly state: EvacuationState;
  /** The newest evacuation of it from there; undefined: none was asked for. */
  readonly migration: Migration | undefined;
  /** Why it failed, or cannot be; null: there is nothing to say. */
  readonly reason: string | null;
}

/** What is looked at. */
export interface EvacuationView {
  readonly records: Records;
  readonly liveness: Liveness;
  /** Milliseconds since the epoch; default `Date.now`. */
  readonly now?: () => number;
}

/**
 * How the evacuation of a host goes, as the records tell it, whoever has asked for it: the instances that are there, and
 * those that were evacuated since it has failed.
 * @throws RecordNotFoundError (`ERR_NOT_FOUND`) when there is no such host
 */
export async function lookAtEvacuation(
  { records, liveness, now = Date.now }: EvacuationView,
  host: string,
): Promise<readonly InstanceEvacuation[]> {
  const [services, present, moves] = await Promise.all([
    records.services.list('compute'),
    records.instances.find({ host }),
    records.migrations.find({ source_compute: host, migration_type: 'evacuation' }),
  ]);
  const service = services.find((one) => one.host === host);
  if (!service) throw new RecordNotFoundError('service', `compute on ${host}`);
  const sinceMs = failedAt(service, liveness);
  const newest = new Map(moves.map((move) => [move.get('instance_uuid'), move])); // the oldest come first
  const here = present.filter((one) => !isHidden(one));
  const names = new Set(here.map((one) => one.get('uuid')));
  const isUnderWay = (move: Migration): boolean => isTakenUp(move, services, liveness, now());
  const isOfNow = (move: Migration): boolean => (move.find('created_at')?.getTime() ?? 0) >= sinceMs;
  return [
    ...here.map((one) => ofPresent(one, newest.get(one.get('uuid')), isUnderWay, isOfNow)),
    ...[...newest].flatMap(([uuid, move]) => (names.has(uuid) ? [] : ofGone(uuid, move, isOfNow))),
  ];
}

/** When it has failed; for one that has not, never. */
function failedAt(service: ServiceRecord, liveness: Liveness): number {
  if (service.forcedDown) return service.forcedDownNote?.atMs ?? -Infinity;
  return liveness.isUp(service) ? Infinity : service.reportedAtMs;
}

/** Somebody is at it: its new host, which is up, or a conductor that looks for one. */
function isTakenUp(
  move: Migration,
  services: readonly ServiceRecord[],
  liveness: Liveness,
  nowMs: number,
): boolean {
  const dest = move.find('dest_compute') ?? null;
  if (dest === null) return !isLost(move, nowMs);
  const service = services.find((one) => one.host === dest);
  return service !== undefined && liveness.isUp(service);
}

function ofPresent(
  instance: Instance,
  migration: Migration | undefined,
  isUnderWay: (move: Migration) => boolean,
  isOfNow: (move: Migration) => boolean,
): InstanceEvacuation {
  const its = { uuid: instance.get('uuid'), task: instance.get('task_state'), migration, reason: null };
  if (migration && !isFinal(migration.get('status')) && isUnderWay(migration))
    return { ...its, state: 'under_way' };
  const obstacle = obstacleOf(instance);
  if (obstacle !== null) return { ...its, state: 'unsuitable', reason: obstacle };
  if (migration && hasFailed(migration) && isOfNow(migration))
    return { ...its, state: 'failed', reason: faultText(instance) || null };
  return { ...its, state: 'waiting' };
}

function hasFailed(migration: Migration): boolean {
  const status = migration.get('status');
  return status === 'failed' || status === 'error';
}

function obstacleOf(instance: Instance): string | null {
  const state = instance.get('vm_state');
  if (instance.get('task_state') === 'deleting') return 'it is being deleted';
  return REBUILDABLE.some((one) => one === state) ? null : `vm_state is ${state}`;
}

/** Of those that have gone only evacuations tell that have brought them away, or are about to end. */
function ofGone(
  uuid: string,
  migration: Migration,
  isOfNow: (move: Migration) => boolean,
): readonly InstanceEvacuation[] {
  const status = migration.get('status');
  const its = { uuid, task: null, migration, reason: null };
  if (!isFinal(status)) return [{ ...its, state: 'under_way' }];
  const isDone = status === 'done' || (status === 'completed' && isOfNow(migration));
  return isDone ? [{ ...its, state: 'evacuated' }] : [];
}
