import { RecordNotFoundError } from '../../errors.js';
import type { CellAccess, CellRegistry } from '../../cells/cell-access.js';
import type { Migration } from '../../objects/migration.js';
import type { MigrationStatus } from '../../objects/states.js';
import type { ConductorContext } from '../conductor-context.js';

/** The two cells of a move whose end is asked for. */
export interface CrossCellEnds {
  readonly registry: CellRegistry;
  readonly source: CellAccess;
  readonly target: CellAccess;
  readonly sourceHost: string;
  readonly destHost: string;
}

/** @throws RecordNotFoundError (`ERR_NOT_FOUND`) when this conductor does not know of the cells */
export async function endsOf({ cells }: ConductorContext, migration: Migration): Promise<CrossCellEnds> {
  const sourceHost = migration.get('source_compute');
  const destHost = migration.get('dest_compute');
  if (cells === undefined || destHost === null) throw new RecordNotFoundError('cell of host', sourceHost);
  const { registry } = cells;
  const [source, target] = await Promise.all([registry.ofHost(sourceHost), registry.ofHost(destHost)]);
  return { registry, source, target, sourceHost, destHost };
}

/** Nothing has happened: the resize waits for its end again, which can be asked for once more. */
export async function waitAgain(
  { records }: CellAccess,
  migration: Migration,
  asked: MigrationStatus,
): Promise<void> {
  const uuid = migration.get('instance_uuid');
  await records.migrations.update(migration.get('uuid'), { status: 'finished' }, { status: [asked] });
  const instance = await records.instances.get(uuid);
  if (instance.get('task_state') !== 'resize_reverting') return;
  await records.instances.update(uuid, { task_state: null }, { task_state: ['resize_reverting'] });
}
