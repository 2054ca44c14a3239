import { randomNumbers } from '../support/rigs/random-faults.js';

/**
 * What is done to a system under load. To the broker: killed, or stopped in order, and started again. To links: cut; `stall`: silent
 * for less than a heartbeat notices; `black-hole`: for longer, in both directions or one. To consumers: `cancel`, the broker
 * ends their subscriptions. To processes: `roll`, SIGTERM and a successor; `kill`, SIGKILL and one. In one process a `roll` is an
 * orderly end, and `close` takes the transport from under them.
 */
export const FAULT_KINDS = [
  'broker-kill',
  'broker-restart',
  'cut',
  'cut-all',
  'stall',
  'black-hole',
  'cancel',
  'server-roll',
  'server-kill',
  'server-close',
  'listener-roll',
  'listener-kill',
  'listener-close',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** After the one before is over. */
  readonly afterMs: number;
  /** For what lasts: a part of the longest, from 0 to 1. */
  readonly size: number;
  /** Which link, which direction, which process: from 0 to 1. */
  readonly which: number;
}

/**
 * Faults without end, the same for a seed: each kind once, in a random order, then each again.
 *
 * @param everyMs - from the end of one to the next: half of it to one and a half
 */
export function* faultPlan(
  seed: number,
  kinds: readonly FaultKind[],
  everyMs: number,
): Generator<PlannedFault, never> {
  const random = randomNumbers(seed);
  for (;;)
    for (const kind of shuffled(kinds, random))
      yield { kind, afterMs: everyMs * (0.5 + random()), size: random(), which: random() };
}

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
