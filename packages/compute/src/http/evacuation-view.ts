import { z } from 'zod';
import type { EvacuationState, InstanceEvacuation } from '../api/evacuation-sight.js';
import { httpErrorOf } from './faults.js';

const STATES = [
  'waiting',
  'under_way',
  'evacuated',
  'failed',
  'unsuitable',
] as const satisfies EvacuationState[];

/** How far one instance is, as it is shown. */
export interface InstanceView {
  readonly id: string;
  readonly state: EvacuationState;
  /** Of its evacuation; null: there is none. */
  readonly migration: string | null;
  /** Of its evacuation. */
  readonly status: string | null;
  /** Where it goes. */
  readonly host: string | null;
  /** Why it failed, or cannot be. */
  readonly reason: string | null;
}

/** How far the evacuation of a host is, as it is shown; with how many instances are in each state. */
export interface EvacuationView extends Readonly<Record<EvacuationState, number>> {
  readonly host: string;
  /** Whoever answers still begins some, or waits for them. */
  readonly driven: boolean;
  readonly instances: readonly InstanceView[];
}

const amount = z.int().min(0);
const text = z.string().nullable();

/** Answer of both requests. */
export const EVACUATION_ANSWER: z.ZodType<{ readonly evacuation: EvacuationView }> = z.strictObject({
  evacuation: z.strictObject({
    host: z.string(),
    driven: z.boolean(),
    ...{ waiting: amount, under_way: amount, evacuated: amount, failed: amount, unsuitable: amount },
    instances: z.array(
      z.strictObject({
        id: z.string(),
        state: z.enum(STATES),
        ...{ migration: text, status: text, host: text, reason: text },
      }),
    ),
  }),
});

/** @param refused - why instances could not even be asked for, by their uuids */
export function evacuationView(
  host: string,
  seen: readonly InstanceEvacuation[],
  driven: boolean,
  refused: ReadonlyMap<string, unknown>,
): EvacuationView {
  const instances = seen.map((one) => instanceView(one, refused.get(one.uuid)));
  const count = (of: EvacuationState): number => instances.filter(({ state }) => state === of).length;
  return {
    host,
    driven,
    waiting: count('waiting'),
    under_way: count('under_way'),
    evacuated: count('evacuated'),
    failed: count('failed'),
    unsuitable: count('unsuitable'),
    instances,
  };
}

function instanceView(one: InstanceEvacuation, refused: unknown): InstanceView {
  const { uuid, migration } = one;
  return {
    id: uuid,
    ...stateOf(one, refused),
    migration: migration?.get('uuid') ?? null,
    status: migration?.get('status') ?? null,
    host: migration?.find('dest_compute') ?? null,
  };
}

function stateOf(
  { state, reason }: InstanceEvacuation,
  refused: unknown,
): Pick<InstanceView, 'state' | 'reason'> {
  if (state !== 'waiting' || refused === undefined) return { state, reason };
  return { state: 'failed', reason: httpErrorOf(refused)?.message ?? 'It could not be asked for.' };
}
