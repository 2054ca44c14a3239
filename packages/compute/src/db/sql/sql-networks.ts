import { decodeJson, encodeJson } from '@ebbgate/core';
import type { NetworkState, NetworkStore } from '../network-store.js';
import type { Reader, SqlDatabase } from './sql-database.js';

/** What the fake network service knows, in an SQL database: several conductors have one between them. */
export class SqlNetworks implements NetworkStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  read(instanceUuid: string): Promise<NetworkState | undefined> {
    return this.#database.read((db) => this.#stateOf(db, instanceUuid));
  }

  async change(
    instanceUuid: string,
    change: (state: NetworkState | undefined) => NetworkState | undefined,
  ): Promise<void> {
    await this.#database.write(async (db) => {
      // A row to hold also where there is none yet, so that two that begin at once do not both begin.
      await db
        .insertInto('networks')
        .values({ instance_uuid: instanceUuid, state: 'null' })
        .onConflict((conflict) => conflict.column('instance_uuid').doNothing())
        .execute();
      const state = change(await this.#stateOf(db, instanceUuid, true));
      if (state === undefined) {
        await db.deleteFrom('networks').where('instance_uuid', '=', instanceUuid).execute();
        return;
      }
      const changed = db.updateTable('networks').set({ state: encodeJson(state) });
      await changed.where('instance_uuid', '=', instanceUuid).execute();
    });
  }

  async #stateOf(db: Reader, instanceUuid: string, held = false): Promise<NetworkState | undefined> {
    const query = db.selectFrom('networks').select('state').where('instance_uuid', '=', instanceUuid);
    const row = await (held ? this.#database.locked(query) : query).executeTakeFirst();
    if (!row) return undefined;
    return (decodeJson(row.state) as NetworkState | null) ?? undefined; // written here
  }
}
