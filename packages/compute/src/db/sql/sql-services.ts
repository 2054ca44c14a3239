import type { Selectable } from 'kysely';
import { RecordNotFoundError } from '../../errors.js';
import { firstReport } from '../memory-services.js';
import type { ServiceChanges, ServiceRecord, ServiceReport, ServiceRepository } from '../repositories.js';
import type { ServiceColumns } from './schema.js';
import type { SqlDatabase } from './sql-database.js';

/** The last report of each service, in an SQL database. */
export class SqlServices implements ServiceRepository {
  readonly #database: SqlDatabase;
  readonly #onChange: (record: ServiceRecord) => void;

  constructor(database: SqlDatabase, onChange: (record: ServiceRecord) => void) {
    this.#database = database;
    this.#onChange = onChange;
  }

  async report(report: ServiceReport): Promise<void> {
    const first = rowOf(firstReport(report));
    const { state, reported_at_ms } = first;
    const row = await this.#database.write((db) =>
      db
        .insertInto('services')
        .values(first)
        .onConflict((conflict) =>
          conflict.columns(['binary', 'host']).doUpdateSet((build) => ({
            state,
            reported_at_ms,
            report_count: build('services.report_count', '+', 1),
            ...given(report),
          })),
        )
        .returningAll()
        .executeTakeFirstOrThrow(),
    );
    this.#onChange(recordOf(row));
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    const rows = await this.#database.read((db) =>
      db.selectFrom('services').selectAll().where('binary', '=', binary).execute(),
    );
    return rows.map(recordOf).sort((a, b) => (a.host < b.host ? -1 : 1)); // not by the order of the database's language
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
    if (!row) throw new RecordNotFoundError('service', `${binary} on ${host}`);
    return recordOf(row);
  }

  async update(binary: string, host: string, changes: ServiceChanges): Promise<ServiceRecord> {
    const { disabled, disabledReason, forcedDown } = changes;
    const columns = {
      ...(disabled !== undefined && { disabled: Number(disabled) }),
      ...(disabledReason !== undefined && { disabled_reason: disabledReason }),
      ...(forcedDown !== undefined && { forced_down: Number(forcedDown) }),
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
    if (!row) throw new RecordNotFoundError('service', `${binary} on ${host}`);
    const record = recordOf(row);
    this.#onChange(record);
    return record;
  }
}

/** What a later report changes: only what it tells. */
function given({ topic, version, availabilityZone, startedAtMs }: ServiceReport): Partial<ServiceColumns> {
  return {
    ...(topic !== undefined && { topic }),
    ...(version !== undefined && { version }),
    ...(availabilityZone !== undefined && { availability_zone: availabilityZone }),
    ...(startedAtMs !== undefined && { started_at_ms: Math.round(startedAtMs) }),
  };
}

function rowOf(record: ServiceRecord): ServiceColumns {
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
    report_count: record.reportCount,
    started_at_ms: Math.round(record.startedAtMs),
    reported_at_ms: Math.round(record.reportedAtMs),
  };
}

function recordOf(row: Selectable<ServiceColumns>): ServiceRecord {
  return Object.freeze({
    uuid: row.uuid,
    binary: row.binary,
    host: row.host,
    state: row.state,
    reportedAtMs: row.reported_at_ms,
    topic: row.topic,
    version: row.version,
    availabilityZone: row.availability_zone,
    startedAtMs: row.started_at_ms,
    disabled: row.disabled === 1,
    disabledReason: row.disabled_reason,
    forcedDown: row.forced_down === 1,
    reportCount: row.report_count,
  });
}
