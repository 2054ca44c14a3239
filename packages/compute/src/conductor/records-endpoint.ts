import { expectedExceptions, ValidationError } from '@ebbgate/rpc';
import type {
  AllocationRepository,
  Expected,
  Records,
  Repository,
  ServiceRepository,
} from '../db/repositories.js';
import { RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import type { NovaObject } from '../objects/nova-object.js';
import { type Handlers, makeEndpoint } from '../rpc/endpoint.js';
import type { Dictionary } from '../rpc/kinds.js';
import {
  RECORD_METHODS,
  type RecordMethods,
  RECORDS_NAMESPACE,
  RECORDS_RPC_VERSION,
} from '../rpc/record-methods.js';
import {
  reportFrom,
  resourcesFrom,
  serviceChangesFrom,
  serviceFilterFrom,
  toWire,
} from '../rpc/record-wire.js';

/** The records as those have them who reach them over RPC only. */
export function recordsEndpoint({ instances, migrations, services, allocations }: Records): object {
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
    ...serviceHandlers(services),
    ...allocationHandlers(allocations),
  });
}

function serviceHandlers(services: ServiceRepository): Handlers<RecordMethods> {
  return {
    service_register: async (_context, { report }) => toWire(await services.register(reportFrom(report))),
    service_report: answering(async (_context, { report }) =>
      toWire(await services.report(reportFrom(report))),
    ),
    service_list: async (_context, { binary }) => (await services.list(binary)).map(toWire),
    service_find: async (_context, { where }) => (await services.find(serviceFilterFrom(where))).map(toWire),
    service_get: answering(async (_context, { binary, host }) => toWire(await services.get(binary, host))),
    service_update: answering(async (_context, { binary, host, changes }) =>
      toWire(await services.update(binary, host, serviceChangesFrom(changes))),
    ),
    service_delete: answering((_context, { binary, host }) => services.delete(binary, host)),
  };
}

function allocationHandlers(allocations: AllocationRepository): Handlers<RecordMethods> {
  return {
    capacity_report: (_context, { host, ...total }) => allocations.report(host, resourcesFrom(total)),
    capacity_forget: answering((_context, { host }) => allocations.forget(host)),
    capacity_list: async () => (await allocations.capacities()).map(toWire),
    allocation_claim: (_context, { consumer, host, ...resources }) =>
      allocations.claim(consumer, host, resourcesFrom(resources)),
    allocation_transfer: answering((_context, { from_consumer: from, to_consumer: to }) =>
      allocations.transfer(from, to),
    ),
    allocation_release: (_context, { consumer, host }) => allocations.release(consumer, host ?? undefined),
    allocation_find: async (_context, { consumer, host }) => {
      const where = { ...(consumer !== null && { consumer }), ...(host !== null && { host }) };
      return (await allocations.find(where)).map(toWire);
    },
  };
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
