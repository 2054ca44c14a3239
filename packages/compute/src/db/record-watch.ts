import { MessagingTimeoutError, type TypedEvents, within, type WaitOptions } from '@ebbgate/core';
import type { Instance } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { RecordEvents } from './memory-records.js';
import type { Records } from './repositories.js';

/** Records that tell of their changes. */
export interface WatchedRecords extends Records {
  readonly events: TypedEvents<RecordEvents>;
}

/** Waits for records to come into a state, by being told of their changes. */
export class RecordWatch {
  readonly #records: WatchedRecords;

  constructor(records: WatchedRecords) {
    this.#records = records;
  }

  /**
   * Resolves with the instance as soon as `matches` says so.
   * @throws MessagingTimeoutError (`ERR_TIMEOUT`) at the time limit; the signal's reason when it aborts
   */
  async instance(
    uuid: string,
    matches: (instance: Instance) => boolean,
    options: WaitOptions = {},
  ): Promise<Instance> {
    const isIt = (instance: Instance): boolean => instance.get('uuid') === uuid && matches(instance);
    const found = next((listener) => this.#records.events.on('instance', listener), isIt, options);
    const { instances } = this.#records;
    const [now] = [...(await instances.find({ uuid })), ...(await instances.find({ uuid, deleted: true }))];
    return now && isIt(now) ? found.end(now) : found.promise;
  }

  /**
   * Resolves with the migration of an instance, the newest one, as soon as `matches` says so.
   * @throws as {@link RecordWatch.instance}
   */
  async migration(
    instanceUuid: string,
    matches: (migration: Migration) => boolean,
    options: WaitOptions = {},
  ): Promise<Migration> {
    const isIt = (migration: Migration): boolean =>
      migration.get('instance_uuid') === instanceUuid && matches(migration);
    const found = next((listener) => this.#records.events.on('migration', listener), isIt, options);
    const now = (await this.#records.migrations.find({ instance_uuid: instanceUuid })).at(-1);
    return now && isIt(now) ? found.end(now) : found.promise;
  }
}

interface Found<Record> {
  readonly promise: Promise<Record>;
  /** The record was there already. */
  end(record: Record): Record;
}

function next<Record>(
  subscribe: (listener: (record: Record) => void) => () => void,
  matches: (record: Record) => boolean,
  options: WaitOptions,
): Found<Record> {
  let settle: (record: Record) => void = () => undefined;
  const told = new Promise<Record>((resolve) => {
    settle = resolve;
  });
  const off = subscribe((record) => {
    if (matches(record)) settle(record);
  });
  const missing = (): Error => new MessagingTimeoutError('A record did not come into the state waited for');
  const promise = within(told, options, missing).finally(off);
  promise.catch(() => undefined); // heard by whoever awaits it; by nobody when the record was there already
  return {
    promise,
    end: (record) => {
      settle(record);
      return record;
    },
  };
}
