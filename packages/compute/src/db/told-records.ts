import type { InstanceFields } from '../objects/instance.js';
import type { MigrationFields } from '../objects/migration.js';
import type { Records, Repository } from './repositories.js';

/** What shows how far something is that is done to an instance. */
const OF_INSTANCES: ReadonlySet<string> = new Set<keyof InstanceFields>(['vm_state', 'task_state', 'host']);
const OF_MIGRATIONS: ReadonlySet<string> = new Set<keyof MigrationFields>(['status', 'dest_compute']);

/**
 * The same records; `onState` is called after each write by which a record tells another state than before, in the context
 * of whoever has written it.
 */
export function tellStates(records: Records, onState: () => void): Records {
  return Object.freeze({
    ...records,
    instances: told(records.instances, OF_INSTANCES, onState),
    migrations: told(records.migrations, OF_MIGRATIONS, onState),
  });
}

function told<Record, Fields extends object>(
  inner: Repository<Record, Fields>,
  fields: ReadonlySet<string>,
  onState: () => void,
): Repository<Record, Fields> {
  return Object.freeze<Repository<Record, Fields>>({
    create: (record) => inner.create(record),
    get: (uuid) => inner.get(uuid),
    find: (where) => inner.find(where),
    update: async (uuid, changes, expected) => {
      const record = await inner.update(uuid, changes, expected);
      if (Object.keys(changes).some((name) => fields.has(name))) onState();
      return record;
    },
  });
}
