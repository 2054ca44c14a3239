import { setTimeout as sleep } from 'node:timers/promises';
import { isHidden } from '../cells/cell-access.js';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { isFinal, type MigrationStatus, type VmState } from '../objects/states.js';
import { Lookout } from './sight.js';
import type { SightView } from './sight-views.js';
import { type CloudView, OperatorError } from './work.js';

/** How often is looked: whoever has only the broker is not told of changes. */
export const LOOK_MS = 200;

/** When something that was asked for has succeeded. */
export interface Ending {
  /** What the instance then is. */
  readonly states: readonly VmState[];
  /** What its migration then is; absent: none is concerned. */
  readonly move?: MigrationStatus;
}

/** What is followed. */
export interface Followed {
  readonly instance: Instance;
  /** The migration that was the newest before the request: it is not that of the request; undefined: it can be any. */
  readonly notMove?: string | undefined;
  readonly ending: Ending;
  readonly timeoutMs: number;
}

/** How it came out. */
export interface Outcome {
  readonly instance: Instance;
  readonly migration: Migration | undefined;
}

/**
 * Looks until what was asked for is over.
 * @throws OperatorError when it has failed, or is not over in time; the signal's reason
 */
export async function follow(
  api: CloudView,
  { instance: begun, notMove, ending, timeoutMs }: Followed,
  view: SightView,
  signal: AbortSignal,
): Promise<Outcome> {
  const uuid = begun.get('uuid');
  const lookout = new Lookout(api, [uuid]);
  const until = performance.now() + timeoutMs;
  for (;;) {
    const seen = await lookout.look();
    const newest = seen.moves.get(uuid);
    const migration = ending.move !== undefined && newest?.get('uuid') !== notMove ? newest : undefined;
    view.show({ ...seen, moves: migration ? seen.moves : new Map() });
    const instance = seen.instances[0] ?? begun;
    if (isHidden(instance))
      throw new OperatorError(`${nameOf(begun)} has moved to another cell: look at it there`);
    if (isOver(instance, migration, ending)) {
      // It may have become what it is since it was looked at, and before its migration was.
      return checked({ instance: await api.records.instances.get(uuid), migration }, ending);
    }
    if (performance.now() > until) {
      throw new OperatorError(
        `${stateText(instance)} after ${timeoutMs / 1000} s, and it goes on: look at it with instance show ${nameOf(instance)}`,
      );
    }
    await sleep(LOOK_MS, undefined, { signal });
  }
}

function isOver(instance: Instance, migration: Migration | undefined, { move }: Ending): boolean {
  // One that is built has no task for a moment between the choice of its host and the first that this does.
  if (instance.get('task_state') !== null || instance.get('vm_state') === 'building') return false;
  const status = migration?.get('status');
  return status === undefined || status === move || isFinal(status);
}

function checked(outcome: Outcome, ending: Ending): Outcome {
  const { instance, migration } = outcome;
  const status = migration?.get('status');
  if (ending.move !== undefined && ending.move !== status) {
    const how = status === undefined ? 'was not begun' : `ended in ${status}`;
    throw new OperatorError(
      `What was asked for ${how} (success is ${ending.move}): ${stateText(instance)}. The logs of conductor and hosts say why`,
    );
  }
  if (ending.states.includes(instance.get('vm_state'))) return outcome;
  throw new OperatorError(
    `${stateText(instance)}, and should be ${ending.states.join(' or ')}. The logs of conductor and hosts say why`,
  );
}

/** `vm1 is active/migrating at a`. */
export function stateText(instance: Instance): string {
  const task = instance.get('task_state');
  const state = `${instance.get('vm_state')}${task === null ? '' : `/${task}`}`;
  return `${nameOf(instance)} is ${state} at ${instance.find('host') ?? 'no host'}`;
}
