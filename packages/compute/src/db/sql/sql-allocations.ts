import { UnexpectedStateError } from '../../errors.js';
import { fits, stillAllocated, sum } from '../memory-allocations.js';
import type { Allocation, AllocationRepository, HostCapacity, Resources } from '../repositories.js';
import type { Reader, SqlDatabase, Writer } from './sql-database.js';

interface ResourceRow {
  readonly vcpus: number;
  readonly memory_mb: number;
  readonly disk_gb: number;
}

/**
 * Allocations in an SQL database. Who is about to take or to move something on a host holds the row of the host's
 * capacity until it is done, so that what was counted stays true.
 */
export class SqlAllocations implements AllocationRepository {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async report(host: string, total: Resources): Promise<void> {
    const columns = columnsOf(total);
    await this.#database.write((db) =>
      db
        .insertInto('capacities')
        .values({ host, ...columns })
        .onConflict((conflict) => conflict.column('host').doUpdateSet(columns))
        .execute(),
    );
  }

  async forget(host: string): Promise<void> {
    await this.#database.write(async (db) => {
      await this.#hold(db, [host]);
      const taken = await db
        .selectFrom('allocations')
        .select('host')
        .where('host', '=', host)
        .executeTakeFirst();
      if (taken) throw stillAllocated(host);
      await db.deleteFrom('capacities').where('host', '=', host).execute();
    });
  }

  async capacities(): Promise<readonly HostCapacity[]> {
    const rows = await this.#database.read((db) =>
      db
        .selectFrom('capacities')
        .leftJoin('allocations', 'allocations.host', 'capacities.host')
        .select(['capacities.host', 'capacities.vcpus', 'capacities.memory_mb', 'capacities.disk_gb'])
        .select(({ fn }) => [
          fn.sum<number | null>('allocations.vcpus').as('used_vcpus'),
          fn.sum<number | null>('allocations.memory_mb').as('used_memory_mb'),
          fn.sum<number | null>('allocations.disk_gb').as('used_disk_gb'),
        ])
        .groupBy(['capacities.host', 'capacities.vcpus', 'capacities.memory_mb', 'capacities.disk_gb'])
        .execute(),
    );
    const found = rows.map((row) => ({
      host: row.host,
      total: resourcesOf(row),
      used: {
        vcpus: row.used_vcpus ?? 0,
        memoryMb: row.used_memory_mb ?? 0,
        diskGb: row.used_disk_gb ?? 0,
      },
    }));
    return found.sort((a, b) => (a.host < b.host ? -1 : 1)); // not by the order of the database's language
  }

  claim(consumer: string, host: string, resources: Resources): Promise<boolean> {
    const columns = columnsOf(resources);
    return this.#database.write(async (db) => {
      const [total] = await this.#hold(db, [host]);
      if (!total) return false;
      const before = await this.#own(db, consumer, host);
      if (before && sameSize(before, columns)) return true; // whatever else has become of the host
      const others = await othersOn(db, host, consumer);
      if (!fits(sum(others, resources), resourcesOf(total))) return false;
      await db
        .insertInto('allocations')
        .values({ consumer, host, ...columns })
        .onConflict((conflict) => conflict.columns(['consumer', 'host']).doUpdateSet(columns))
        .execute();
      return true;
    });
  }

  async transfer(from: string, to: string): Promise<void> {
    if (from === to) return;
    await this.#database.write(async (db) => {
      const hosts = await hostsOf(db, from);
      await this.#hold(db, hosts);
      const there = new Set(await hostsOf(db, to));
      const both = hosts.find((host) => there.has(host));
      if (both !== undefined) throw new UnexpectedStateError(`${to} has an allocation on ${both} already`);
      await db.updateTable('allocations').set({ consumer: to }).where('consumer', '=', from).execute();
    });
  }

  async release(consumer: string, host?: string): Promise<void> {
    await this.#database.write((db) => {
      const own = db.deleteFrom('allocations').where('consumer', '=', consumer);
      return (host === undefined ? own : own.where('host', '=', host)).execute();
    });
  }

  async find(where: { readonly consumer?: string; readonly host?: string }): Promise<readonly Allocation[]> {
    const { consumer, host } = where;
    const rows = await this.#database.read((db) => {
      let query = db.selectFrom('allocations').selectAll();
      if (consumer !== undefined) query = query.where('consumer', '=', consumer);
      if (host !== undefined) query = query.where('host', '=', host);
      return query.execute();
    });
    return rows
      .map((row) => ({ consumer: row.consumer, host: row.host, resources: resourcesOf(row) }))
      .sort((a, b) => byText(a.consumer, b.consumer) || byText(a.host, b.host));
  }

  /** Keeps these hosts' allocations as they are until the transaction ends; by name, so that none waits for another. */
  async #hold(db: Writer, hosts: readonly string[]): Promise<readonly ResourceRow[]> {
    if (hosts.length === 0) return [];
    const query = db.selectFrom('capacities').selectAll().where('host', 'in', hosts).orderBy('host');
    return this.#database.locked(query).execute();
  }

  async #own(db: Reader, consumer: string, host: string): Promise<ResourceRow | undefined> {
    const query = db.selectFrom('allocations').selectAll().where('consumer', '=', consumer);
    return query.where('host', '=', host).executeTakeFirst();
  }
}

/** What all but one consumer have of a host. */
async function othersOn(db: Reader, host: string, consumer: string): Promise<Resources> {
  const sums = await db
    .selectFrom('allocations')
    .select(({ fn }) => [
      fn.sum<number | null>('vcpus').as('vcpus'),
      fn.sum<number | null>('memory_mb').as('memory_mb'),
      fn.sum<number | null>('disk_gb').as('disk_gb'),
    ])
    .where('host', '=', host)
    .where('consumer', '!=', consumer)
    .executeTakeFirstOrThrow();
  return { vcpus: sums.vcpus ?? 0, memoryMb: sums.memory_mb ?? 0, diskGb: sums.disk_gb ?? 0 };
}

async function hostsOf(db: Reader, consumer: string): Promise<string[]> {
  const rows = await db.selectFrom('allocations').select('host').where('consumer', '=', consumer).execute();
  return rows.map(({ host }) => host);
}

function columnsOf({ vcpus, memoryMb, diskGb }: Resources): ResourceRow {
  return { vcpus, memory_mb: memoryMb, disk_gb: diskGb };
}

function resourcesOf({ vcpus, memory_mb: memoryMb, disk_gb: diskGb }: ResourceRow): Resources {
  return { vcpus, memoryMb, diskGb };
}

function sameSize(a: ResourceRow, b: ResourceRow): boolean {
  return a.vcpus === b.vcpus && a.memory_mb === b.memory_mb && a.disk_gb === b.disk_gb;
}

function byText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
