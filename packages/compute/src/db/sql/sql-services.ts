import { type Insertable, type Selectable, sql } from 'kysely';
import { firstReport, isReasoned, noteNow, notRegistered } from '../memory-services.js';
import type {
  ForcedDownNote,
  ServiceChanges,
  ServiceFilter,
  ServiceRecord,
  ServiceReport,
  ServiceRepository,
} from '../repositories.js';
import type { DrainSight } from '../../servicegroup/drain-sight.js';
import type { ServiceColumns } from './schema.js';
import type { SqlDatabase } from './sql-database.js';

/** The largest number that the column has room for. */
const LAST_ID = 2 ** 31 - 1;

/** The last report of each service, in an SQL database. */
export class SqlServices implements ServiceRepository {
  readonly #database: SqlDatabase;
  readonly #onChange: (record: ServiceRecord) => void;

  constructor(database: SqlDatabase, onChange: (record: ServiceRecord) => void) {
    this.#database = database;
    this.#onChange = onChange;
  }

  async register(report: ServiceReport): Promise<ServiceRecord> {
    const row = await this.#database.write((db) =>
      db
        .insertInto('services')
        .values(rowOf(firstReport(report)))
        .onConflict((conflict) => conflict.columns(['binary', 'host']).doUpdateSet(reported(report)))
        .returningAll()
        .executeTakeFirstOrThrow(),
    );
    return this.#changed(row);
  }

  async report(report: ServiceReport): Promise<ServiceRecord> {
    const { binary, host } = report;
    const row = await this.#database.write((db) =>
      db
        .updateTable('services')
        .set(reported(report))
        .where('binary', '=', binary)
        .where('host', '=', host)
        .returningAll()
        .executeTakeFirst(),
    );
    if (!row) throw notRegistered(binary, host);
    return this.#changed(row);
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    const rows = await this.#database.read((db) =>
      db.selectFrom('services').selectAll().where('binary', '=', binary).execute(),
    );
    return rows.map(recordOf).sort((a, b) => (a.host < b.host ? -1 : 1)); // not by the order of the database's language
  }

  async find({ binary, host, uuid, id }: ServiceFilter): Promise<readonly ServiceRecord[]> {
    if (id !== undefined && id > LAST_ID) return []; // PostgreSQL refuses to look for it
    const rows = await this.#database.read((db) => {
      let query = db.selectFrom('services').selectAll().orderBy('id');
      if (binary !== undefined) query = query.where('binary', '=', binary);
      if (host !== undefined) query = query.where('host', '=', host);
      if (uuid !== undefined) query = query.where('uuid', '=', uuid);
      if (id !== undefined) query = query.where('id', '=', id);
      return query.execute();
    });
    return rows.map(recordOf);
  }

  async get(binary: string, host: string): Promise<ServiceRecord> {
    const row = await this.#database.read((db) =>
      db
        .selectFrom('services')
        .selectAll()
        .where('binary', '=', binary)
        .where('host', '=', host)
        .executeTakeFirst(),
    );
    if (!row) throw notRegistered(binary, host);
    return recordOf(row);
  }

  async update(binary: string, host: string, changes: ServiceChanges): Promise<ServiceRecord> {
    const { disabled, disabledReason, forcedDown, forcedDownNote } = changes;
    const columns = {
      ...(disabled !== undefined && { disabled: Number(disabled) }),
      ...(disabledReason !== undefined && { disabled_reason: disabledReason }),
      ...(forcedDown !== undefined && { forced_down: Number(forcedDown) }),
      ...(forcedDown === true && { epoch: sql<number>`epoch + 1 - forced_down` }), // rises when it was not forced down
      ...(forcedDown === true && {
        forced_down_note: sql<string>`case when forced_down = 1 then forced_down_note else ${jsonText(noteNow(forcedDownNote))} end`,
      }),
      ...(isReasoned(forcedDownNote) && { forced_down_note: jsonText(noteNow(forcedDownNote)) }),
      ...(forcedDown === false && { forced_down_note: null }),
    };
    if (Object.keys(columns).length === 0) return this.get(binary, host);
    const row = await this.#database.write((db) =>
      db
        .updateTable('services')
        .set(columns)
        .where('binary', '=', binary)
        .where('host', '=', host)
        .returningAll()
        .executeTakeFirst(),
    );
    if (!row) throw notRegistered(binary, host);
    return this.#changed(row);
  }

  async delete(binary: string, host: string): Promise<void> {
    const { numDeletedRows } = await this.#database.write((db) =>
      db
        .deleteFrom('services')
        .where('binary', '=', binary)
        .where('host', '=', host)
        .executeTakeFirstOrThrow(),
    );
    if (numDeletedRows === 0n) throw notRegistered(binary, host);
  }

  #changed(row: Selectable<ServiceColumns>): ServiceRecord {
    const record = recordOf(row);
    this.#onChange(record);
    return record;
  }
}

/** What a later report changes: only what it tells. */
function reported(report: ServiceReport) {
  const { state, reportedAtMs, topic, version, availabilityZone, startedAtMs } = report;
  return {
    state,
    reported_at_ms: Math.round(reportedAtMs),
    drain: jsonText(report.drain),
    report_count: sql<number>`services.report_count + 1`,
    ...(topic !== undefined && { topic }),
    ...(version !== undefined && { version }),
    ...(availabilityZone !== undefined && { availability_zone: availabilityZone }),
    ...(startedAtMs !== undefined && { started_at_ms: Math.round(startedAtMs) }),
  };
}

function rowOf(record: Omit<ServiceRecord, 'id'>): Insertable<ServiceColumns> {
  return {
    binary: record.binary,
    host: record.host,
    uuid: record.uuid,
    topic: record.topic,
    version: record.version,
    state: record.state,
    availability_zone: record.availabilityZone,
    disabled: Number(record.disabled),
    disabled_reason: record.disabledReason,
    forced_down: Number(record.forcedDown),
    epoch: record.epoch,
    report_count: record.reportCount,
    started_at_ms: Math.round(record.startedAtMs),
    reported_at_ms: Math.round(record.reportedAtMs),
    drain: jsonText(record.drain),
    forced_down_note: jsonText(record.forcedDownNote),
  };
}

function jsonText(value: DrainSight | ForcedDownNote | null | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

function recordOf(row: Selectable<ServiceColumns>): ServiceRecord {
  return Object.freeze({
    id: row.id,
    uuid: row.uuid,
    binary: row.binary,
    host: row.host,
    state: row.state,
    reportedAtMs: row.reported_at_ms,
    topic: row.topic,
    version: row.version,
    availabilityZone: row.availability_zone,
    startedAtMs: row.started_at_ms,
    drain: row.drain === null ? null : (JSON.parse(row.drain) as DrainSight), // as it was written
    disabled: row.disabled === 1,
    disabledReason: row.disabled_reason,
    forcedDown: row.forced_down === 1,
    forcedDownNote:
      row.forced_down_note === null ? null : (JSON.parse(row.forced_down_note) as ForcedDownNote), // likewise
    epoch: row.epoch,
    reportCount: row.report_count,
  });
}
