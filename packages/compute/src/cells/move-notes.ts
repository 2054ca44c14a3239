import type { Instance } from '../objects/instance.js';

/** What the record of an instance tells of its move to another cell, for as long as anything of it is to be done or taken back. */
export interface MoveNotes {
  /** Uuid of the migration: the same in both cells. */
  readonly migration: string;
  /** Name of the cell that it comes from. */
  readonly source: string;
  /** Name of the cell that it goes to. */
  readonly target: string;
  /** Id of the image that the disks travel in; '': none is made yet, or none is needed. */
  readonly image: string;
}

type Metadata = Readonly<Record<string, string>>;

const KEYS = {
  migration: 'cross_cell_migration',
  source: 'cross_cell_source',
  target: 'cross_cell_target',
  image: 'cross_cell_image',
} as const;
const NAMES: ReadonlySet<string> = new Set(Object.values(KEYS));

/** What is noted; undefined: no such move is open. */
export function notesOf(instance: Instance): MoveNotes | undefined {
  const known = new Map(Object.entries(instance.find('system_metadata') ?? {})); // names come from the wire
  const [migration, source, target] = [KEYS.migration, KEYS.source, KEYS.target].map((key) => known.get(key));
  if (migration === undefined || source === undefined || target === undefined) return undefined;
  return { migration, source, target, image: known.get(KEYS.image) ?? '' };
}

/** The system metadata with these notes, in place of those of an earlier move. */
export function withNotes(metadata: Metadata, notes: MoveNotes): Metadata {
  const { migration, source, target, image } = KEYS;
  return {
    ...metadata,
    [migration]: notes.migration,
    [source]: notes.source,
    [target]: notes.target,
    [image]: notes.image,
  };
}

/** The system metadata of an instance without notes: its move is over. */
export function withoutNotes(instance: Instance): Metadata {
  const entries = Object.entries(instance.find('system_metadata') ?? {});
  return Object.fromEntries(entries.filter(([name]) => !NAMES.has(name)));
}
