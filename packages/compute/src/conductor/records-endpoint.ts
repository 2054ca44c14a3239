import { expectedExceptions, ValidationError } from '@ebbgate/rpc';
import type { Expected, Records, Repository } from '../db/repositories.js';
import { RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { NovaObject } from '../objects/nova-object.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import type { Dictionary } from '../rpc/kinds.js';
import { RECORD_METHODS, RECORDS_NAMESPACE, RECORDS_RPC_VERSION } from '../rpc/record-methods.js';

/** The records as those have them who reach them over RPC only. */
export function recordsEndpoint({ instances, migrations, services }: Records): object {
  const its = { version: RECORDS_RPC_VERSION, namespace: RECORDS_NAMESPACE };
  return makeEndpoint(RECORD_METHODS, its, {
    instance_create: answering((_context, { record }) => instances.create(record)),
    instance_get: answering((_context, { uuid }) => instances.get(uuid)),
    instance_find: (_context, { where }) => instances.find(fieldsOf(where)),
    instance_update: answering((_context, args) => update(instances, args)),
    migration_create: answering((_context, { record }) => migrations.create(record)),
    migration_get: answering((_context, { uuid }) => migrations.get(uuid)),
    migration_find: (_context, { where }) => migrations.find(fieldsOf(where)),
    migration_update: answering((_context, args) => update(migrations, args)),
    service_report: (_context, { reported_at_ms: reportedAtMs, ...record }) =>
      services.report({ ...record, reportedAtMs }),
    service_list: async (_context, { binary }) => {
      const found = await services.list(binary);
      return found.map(({ reportedAtMs, ...record }) => ({ ...record, reported_at_ms: reportedAtMs }));
    },
  });
}

/** Records that are not there, or in another state, are answers and no faults of this side. */
function answering<Args extends unknown[], Result>(
  method: (...args: Args) => Result,
): (...args: Args) => Result {
  return expectedExceptions([RecordNotFoundError, UnexpectedStateError], method);
}

interface UpdateArgs<Fields extends object> {
  readonly uuid: string;
  readonly changes: NovaObject<Fields>;
  readonly expected: Dictionary;
}

async function update<Fields extends object>(
  repository: Repository<NovaObject<Fields>, Fields>,
  { uuid, changes, expected }: UpdateArgs<Fields>,
): Promise<NovaObject<Fields>> {
  for (const [name, values] of Object.entries(expected)) {
    if (Array.isArray(values)) continue;
    throw new ValidationError('update', [
      { path: `expected.${name.slice(0, 64)}`, message: 'must be a list' },
    ]);
  }
  return repository.update(uuid, fieldsOf(changes), expected as Expected<Fields>); // lists, as just seen
}

/** What the object carries; a value is compared or stored whatever it is. */
function fieldsOf<Fields extends object>(object: NovaObject<Fields>): Partial<Fields> {
  return Object.fromEntries(object.entries()) as Partial<Fields>; // of the kind that the table names
}
