import type { RunEnd } from './part.js';
import type { FaultKind } from './plan.js';
import type { Failure, SoakRecord, Way } from './records.js';
import type { RoleName } from './role.js';

/** What the broker and the driver of a soak promise. */
export interface Promises {
  /** When a handler starts: `docs/design/decisions.md` 1. */
  readonly acceptance: 'confirmed' | 'written';
  /** A broker that is killed may have lost acknowledgements that it had confirmed. */
  readonly killForgets: boolean;
}

/** One run of a role: what it wrote down, and how it ended. */
export interface Run {
  readonly role: RoleName;
  readonly run: string;
  readonly end: RunEnd;
  readonly endedAt: number;
  readonly records: readonly SoakRecord[];
}

/** A fault, from its beginning to the moment when it was taken back. */
export interface Struck {
  readonly kind: FaultKind;
  readonly at: number;
  readonly until: number;
}

/** How many messages are where. */
export type Stored = ReadonlyMap<string, number>;

export interface Evidence {
  readonly promises: Promises;
  readonly runs: readonly Run[];
  readonly faults: readonly Struck[];
  /** From the first message to the last. */
  readonly load: { readonly from: number; readonly to: number };
  /** What nobody had taken in the end, although all servers were there. */
  readonly stored: Stored;
}

/** Somebody began, or handled, a message. */
export interface Deed {
  readonly run: Run;
  readonly at: number;
  /** How many that run had begun, or handled, before. */
  readonly number: number;
}

/** What became of one message. */
export interface Story {
  readonly id: string;
  readonly way: Way;
  settled: boolean;
  failure: Failure | undefined;
  /** By servers, in their journals. */
  readonly taken: { readonly run: Run; readonly at: number }[];
  readonly begun: Deed[];
  /** Notifications, to the end. */
  readonly handled: Deed[];
}

/** By what all have written down. Whoever received a message writes of it, too, that nobody has sent: that is left out. */
export function storiesOf(runs: readonly Run[]): readonly Story[] {
  const stories = new Map<string, Story>();
  for (const { records } of runs)
    for (const record of records)
      if (record.is === 'sent')
        stories.set(record.id, {
          ...{ id: record.id, way: record.way, settled: false, failure: undefined },
          ...{ taken: [], begun: [], handled: [] },
        });
  for (const run of runs) tellOf(run, stories);
  for (const { begun, handled } of stories.values())
    for (const deeds of [begun, handled]) deeds.sort((a, b) => a.at - b.at);
  return [...stories.values()];
}

function tellOf(run: Run, stories: ReadonlyMap<string, Story>): void {
  const numbers = { begun: 0, handled: 0 };
  for (const record of run.records) {
    const story = 'id' in record ? stories.get(record.id) : undefined;
    if (!story) continue;
    const { at } = record;
    if (record.is === 'taken') story.taken.push({ run, at });
    if (record.is === 'begun' || record.is === 'handled')
      story[record.is].push({ run, at, number: numbers[record.is]++ });
    if (record.is === 'settled') Object.assign(story, { settled: true, failure: record.failure });
  }
}

/** A promise has resolved, so it has to be done: begun, or, if it is a notification, handled to its end. */
export function isOwed({ way, settled, failure, begun, handled }: Story): boolean {
  return settled && !failure && (way === 'notification' ? handled : begun).length === 0;
}
