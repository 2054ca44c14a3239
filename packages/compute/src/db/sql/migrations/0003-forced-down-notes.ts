import type { Kysely, Migration } from 'kysely';

/** Services tell who has forced them down, why and when; of those that are forced down already nobody knows. */
export const forcedDownNotes: Migration = {
  up: async (db: Kysely<unknown>) => {
    await db.schema.alterTable('services').addColumn('forced_down_note', 'text').execute();
  },
};
