import type { Instance } from './instance.js';

type Notes = Readonly<Record<string, string>>;

const IMAGE = 'shelved_image_id';
const SINCE = 'shelved_at';
const NAMES: ReadonlySet<string> = new Set([IMAGE, SINCE, 'shelved_host']);

/** The notes of an instance that is to be shelved: which image it becomes. @param image - null: it boots from a volume */
export function withShelvedImage(instance: Instance, image: string | null): Notes {
  return { ...withoutShelved(instance), [IMAGE]: image ?? '' };
}

/** The notes of one that is shelved, as Nova writes them: since when, and where. */
export function withShelved(instance: Instance, host: string): Notes {
  const notes = instance.find('system_metadata') ?? {};
  return { ...notes, [SINCE]: new Date().toISOString(), shelved_host: host };
}

/** The notes of one that is not shelved any more. */
export function withoutShelved(instance: Instance): Notes {
  return Object.fromEntries(Object.entries(notesOf(instance)).filter(([name]) => !NAMES.has(name)));
}

/** The image that it has become, or is to become; null: none, as it boots from a volume; undefined: it is not noted. */
export function shelvedImage(instance: Instance): string | null | undefined {
  const image = valueOf(instance, IMAGE);
  return image === '' ? null : image;
}

/** Since when, in milliseconds since the epoch; undefined: it is not noted. */
export function shelvedAtMs(instance: Instance): number | undefined {
  const text = valueOf(instance, SINCE) ?? '';
  const ms = Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`); // Nova's is UTC without a mark
  return Number.isNaN(ms) ? undefined : ms;
}

function valueOf(instance: Instance, name: string): string | undefined {
  return new Map(Object.entries(notesOf(instance))).get(name); // names come from the wire
}

function notesOf(instance: Instance): Notes {
  return instance.find('system_metadata') ?? {};
}
