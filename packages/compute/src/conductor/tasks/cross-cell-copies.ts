import type { Repository } from '../../db/repositories.js';
import { UnexpectedStateError } from '../../errors.js';
import { deletedNow } from '../../objects/deleted.js';
import type { Instance, InstanceFields } from '../../objects/instance.js';
import type { Migration, MigrationFields } from '../../objects/migration.js';
import type { NovaObject } from '../../objects/nova-object.js';
import type { CellAccess } from '../../cells/cell-access.js';

/** Puts hidden copies of an instance and its migration into another cell's records. */
export async function putCopies(
  { records }: CellAccess,
  instance: Instance,
  migration: Migration,
): Promise<void> {
  const hidden = { hidden: true, deleted: false, deleted_at: null } as const;
  const copy = instance.pristine().update({ ...hidden, host: null, node: null, terminated_at: null });
  copy.update({ fault: null }); // what it gets there is the destination's
  await put<InstanceFields>(records.instances, copy);
  await put<MigrationFields>(records.migrations, migration.pristine().update(hidden));
}

/** One that was there before, and has left, is still there, marked as deleted: then its record is written anew. */
async function put<Fields extends { readonly uuid: string; readonly deleted: boolean }>(
  repository: Repository<NovaObject<Fields>, Fields>,
  copy: NovaObject<Fields>,
): Promise<void> {
  try {
    await repository.create(copy);
  } catch (error) {
    if (!(error instanceof UnexpectedStateError)) throw error;
    const fields = Object.fromEntries([...copy.entries()].filter(([name]) => name !== 'id'));
    const gone = { deleted: [true] } as const;
    await repository.update(copy.get('uuid'), fields as Partial<Fields>, gone as never); // Fields has `deleted`
  }
}

/** What is left of an instance in a cell that it is not in: nothing that anybody sees. */
export async function removeInstance({ records }: CellAccess, uuid: string): Promise<void> {
  await records.instances.update(uuid, { ...deletedNow(), hidden: true });
}

/** Likewise, of its migration, which is no longer under way there. */
export async function removeMigration(
  { records }: CellAccess,
  uuid: string,
  status: 'error' | 'reverted',
): Promise<void> {
  await records.migrations.update(uuid, { status, hidden: true, deleted: true, deleted_at: new Date() });
}
