import type { CloudView } from './cloud-view.js';

const KINDS = ['hosts', 'instances', 'migrations'] as const;
type Kind = (typeof KINDS)[number];

/** What has changed from one view to the next: whole records, and the ids of those that are gone. */
export interface ViewChange extends Partial<CloudView> {
  readonly gone?: Readonly<Partial<Record<Kind, readonly string[]>>>;
}

/** Remembers what was shown last, record by record. */
export class ViewChanges {
  readonly #shown: Readonly<Record<Kind, Map<string, string>>> = {
    hosts: new Map(),
    instances: new Map(),
    migrations: new Map(),
  };

  /** What is new in this view, which is shown from now on; undefined: nothing is. */
  to(view: CloudView): ViewChange | undefined {
    const changes = KINDS.map((kind) => [kind, this.#changeOf(kind, view)] as const);
    const changed = changes.filter(([, { records }]) => records.length > 0);
    const gone = changes.filter(([, { ids }]) => ids.length > 0);
    if (changed.length === 0 && gone.length === 0) return undefined;
    return {
      ...Object.fromEntries(changed.map(([kind, { records }]) => [kind, records])),
      ...(gone.length > 0 && { gone: Object.fromEntries(gone.map(([kind, { ids }]) => [kind, ids])) }),
    };
  }

  #changeOf(kind: Kind, view: CloudView): { readonly records: readonly object[]; readonly ids: string[] } {
    const shown = this.#shown[kind];
    const gone = new Set(shown.keys());
    const records = view[kind].filter((record) => {
      gone.delete(record.id);
      const text = JSON.stringify(record);
      if (shown.get(record.id) === text) return false;
      shown.set(record.id, text);
      return true;
    });
    for (const id of gone) shown.delete(id);
    return { records, ids: [...gone] };
  }
}
