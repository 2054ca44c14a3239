import type { AllocationRepository, Expected, Records, Repository } from '../db/repositories.js';
import { UnexpectedStateError } from '../errors.js';
import { onceAnswered, type Patience } from './sure-write.js';

/** As much of a record as is needed to know a write again. */
interface Readable {
  find(name: never): unknown;
}

/**
 * The records as operations have them: what gets no answer is asked again, for as long as records are waited for. All of it
 * may be done twice, but for an update: when its answer is lost, it finds another state than it expects at the next try. It
 * has happened if the record has the values that it writes, and these are such that the record is not as expected any more.
 *
 * Rejects as the records do, and with UnsettledWriteError (`ERR_TIMEOUT`) when nobody answers in the end. An
 * UnexpectedStateError whose `outcome` is `unknown` comes after a try that got no answer: that may have written.
 */
export function patientRecords(host: Patience, records: Records): Records {
  return Object.freeze({
    ...records,
    instances: patient(host, records.instances),
    migrations: patient(host, records.migrations),
    allocations: patientAllocations(host, records.allocations),
  });
}

function patient<Record extends Readable, Fields extends object>(
  host: Patience,
  inner: Repository<Record, Fields>,
): Repository<Record, Fields> {
  const get = (uuid: string): Promise<Record> => onceAnswered(host, () => inner.get(uuid));
  return Object.freeze<Repository<Record, Fields>>({
    get,
    create: (record) => inner.create(record), // no operation of a host makes one
    find: (where) => onceAnswered(host, () => inner.find(where)),
    update: async (uuid, changes, expected = {}) => {
      let tries = 0;
      try {
        return await onceAnswered(host, () => {
          tries += 1;
          return inner.update(uuid, changes, expected);
        });
      } catch (error) {
        if (tries === 1 || !(error instanceof UnexpectedStateError)) throw error;
        const record = await get(uuid);
        if (leaves(changes, expected) && says(record, changes)) return record;
        throw new UnexpectedStateError(error.message, { cause: error, outcome: 'unknown' });
      }
    },
  });
}

/** Is a record with these values in none of the expected states? */
function leaves<Fields extends object>(changes: Partial<Fields>, expected: Expected<Fields>): boolean {
  const allowed = new Map<string, unknown>(Object.entries(expected));
  return Object.entries(changes).some(([name, value]) => {
    const values = allowed.get(name);
    return Array.isArray(values) && !values.includes(value);
  });
}

/** Objects and dates are not looked at: what shows who has written is text, a number or null. */
function says(record: Readable, changes: object): boolean {
  return Object.entries(changes).every(
    ([name, value]) => (typeof value === 'object' && value !== null) || record.find(name as never) === value,
  );
}

function patientAllocations(host: Patience, inner: AllocationRepository): AllocationRepository {
  return Object.freeze<AllocationRepository>({
    ...inner,
    claim: (consumer, name, resources) => onceAnswered(host, () => inner.claim(consumer, name, resources)),
    transfer: (from, to) => onceAnswered(host, () => inner.transfer(from, to)),
    release: (consumer, name) => onceAnswered(host, () => inner.release(consumer, name)),
    find: (where) => onceAnswered(host, () => inner.find(where)),
  });
}
