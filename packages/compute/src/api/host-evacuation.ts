import { UnexpectedStateError } from '../errors.js';
import type { TaskState } from '../objects/states.js';
import { aborted, pause } from '../virt/pause.js';
import { isHostUp } from './action-parts.js';
import {
  type EvacuationState,
  type EvacuationView,
  type InstanceEvacuation,
  lookAtEvacuation,
} from './evacuation-sight.js';

/** With what a host is evacuated. */
export interface EvacuationMeans extends EvacuationView {
  /** Asks for the evacuation of one instance, if that still has this task; resolves when the request is out. */
  readonly evacuate: (uuid: string, seenTask: TaskState) => Promise<unknown>;
}

/** How a host is evacuated. */
export interface EvacuationPlan {
  readonly host: string;
  /** So many instances are under way at most. */
  readonly parallel: number;
  /** From one look at the records to the next. */
  readonly lookMs: number;
  /** Begins no more once it aborts; what is under way goes on by itself. */
  readonly signal: AbortSignal;
  /** Sees each look. */
  readonly onLook?: (seen: readonly InstanceEvacuation[]) => void;
}

interface Asked {
  readonly times: number;
  /** The evacuation that it had before. */
  readonly before: string | undefined;
}

/** An instance is asked for so often in one run: hosts that die one after the other do not keep it going for ever. */
const MOST_ASKED = 3;

/**
 * A host may be evacuated when it is down, or forced down (FD-2).
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`)
 */
export async function checkDown(
  parts: Pick<EvacuationView, 'records' | 'liveness'>,
  host: string,
): Promise<void> {
  if (await isHostUp(parts, host))
    throw new UnexpectedStateError(`Compute service of ${host} is still in use`);
}

/**
 * Has everything on a host that has failed made anew elsewhere, a few instances at a time. What is under way is left to
 * whoever has begun it, and counts as one of the few; what has failed before is tried once more. So it does no harm to do
 * this twice, one after the other or at the same time. Resolves with how it came out when nothing waits and nothing is
 * under way.
 * @param refused - why single ones could not even be asked for, by their uuids; filled as it goes
 * @throws OperationAbortedError (`ERR_ABORTED`) when the signal aborts; what reading the records rejects with
 */
export async function evacuateHost(
  means: EvacuationMeans,
  { host, parallel, lookMs, signal, onLook }: EvacuationPlan,
  refused: Map<string, unknown> = new Map(),
): Promise<readonly InstanceEvacuation[]> {
  const asked = new Map<string, Asked>();
  for (;;) {
    const seen = await lookAtEvacuation(means, host);
    onLook?.(seen);
    const open = seen.filter((one) => isOpen(one, asked));
    const room = parallel - countOf(seen, 'under_way');
    for (const one of open.slice(0, Math.max(room, 0))) {
      if (signal.aborted) throw aborted(signal);
      asked.set(one.uuid, askedNow(one, asked.get(one.uuid)));
      refused.delete(one.uuid);
      await means.evacuate(one.uuid, one.task).catch((error: unknown) => refused.set(one.uuid, error));
    }
    if (open.length === 0 && countOf(seen, 'under_way') === 0) return seen;
    await pause(lookMs, signal);
  }
}

/** How many instances are in a state. */
export function countOf(seen: readonly InstanceEvacuation[], state: EvacuationState): number {
  return seen.filter((one) => one.state === state).length;
}

function askedNow({ migration }: InstanceEvacuation, asked: Asked | undefined): Asked {
  return { times: (asked?.times ?? 0) + 1, before: migration?.get('uuid') };
}

/** One whose new host has died too waits again, with another evacuation than before. */
function isOpen({ uuid, state, migration }: InstanceEvacuation, all: ReadonlyMap<string, Asked>): boolean {
  const asked = all.get(uuid);
  if (!asked) return state === 'waiting' || state === 'failed';
  return state === 'waiting' && asked.before !== migration?.get('uuid') && asked.times < MOST_ASKED;
}
