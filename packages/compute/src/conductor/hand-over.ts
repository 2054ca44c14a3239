import { MessagingError } from '@ebbgate/core';
import type { Expected, MigrationRepository } from '../db/repositories.js';
import { UnexpectedStateError } from '../errors.js';
import type { MigrationFields } from '../objects/migration.js';
import { isFinal } from '../objects/states.js';

/**
 * Hands a move over to a host. When nobody knows whether the message has arrived, the move is ended, in the one step by which
 * the host would say that it has begun: whoever comes first wins. Resolves when the host has it; rejects, with what the
 * sending rejects with, when it has not and will not begin with it.
 *
 * @param unbegun - what the migration is until the host begins
 */
export async function handOver(
  migrations: MigrationRepository,
  migrationUuid: string,
  unbegun: Expected<MigrationFields>,
  send: () => Promise<void>,
): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!(error instanceof MessagingError) || error.outcome !== 'unknown') throw error;
    if (await hasBegun(migrations, migrationUuid, unbegun)) return;
    throw error;
  }
}

async function hasBegun(
  migrations: MigrationRepository,
  migrationUuid: string,
  unbegun: Expected<MigrationFields>,
): Promise<boolean> {
  try {
    await migrations.update(migrationUuid, { status: 'error' }, unbegun);
    return false;
  } catch (error) {
    if (!(error instanceof UnexpectedStateError)) return false; // who takes it back now has no better records
    return !isFinal((await migrations.get(migrationUuid)).get('status'));
  }
}
