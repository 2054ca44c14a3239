export const RECORDS_NAMESPACE = 'records';
export const RECORDS_RPC_VERSION = '1.0';

/**
 * The records over RPC: those who have no database read and write them through a conductor, as Nova's computes do. The
 * fields to change, and those to look for, travel as an object that carries only them, so that each has its kind;
 * `expected` has for each field the values that it may have; services and allocations travel as `record-wire.ts` says. The
 * columns are those of the compute methods.
 */
// prettier-ignore
export const RECORD_METHODS = {
  instance_create: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Instance',
    args: { record: 'Instance' },
  },
  instance_get: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Instance',
    args: { uuid: 'string' },
  },
  instance_find: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Instances',
    args: { where: 'Instance' },
  },
  instance_update: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Instance',
    args: { uuid: 'string', changes: 'Instance', expected: 'dict' },
  },
  migration_create: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Migration',
    args: { record: 'Migration' },
  },
  migration_get: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Migration',
    args: { uuid: 'string' },
  },
  migration_find: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Migrations',
    args: { where: 'Migration' },
  },
  migration_update: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'Migration',
    args: { uuid: 'string', changes: 'Migration', expected: 'dict' },
  },
  service_register: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'dict',
    args: { report: 'dict' },
  },
  service_report: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'dict',
    args: { report: 'dict' },
  },
  service_list: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'list',
    args: { binary: 'string' },
  },
  service_find: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'list',
    args: { where: 'dict' },
  },
  service_get: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'dict',
    args: { binary: 'string', host: 'string' },
  },
  service_update: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'dict',
    args: { binary: 'string', host: 'string', changes: 'dict' },
  },
  service_delete: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'nothing',
    args: { binary: 'string', host: 'string' },
  },
  capacity_report: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'nothing',
    args: { host: 'string', vcpus: 'number', memory_mb: 'number', disk_gb: 'number' },
  },
  capacity_forget: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'nothing',
    args: { host: 'string' },
  },
  capacity_list: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'list',
    args: {},
  },
  allocation_claim: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'boolean',
    args: { consumer: 'string', host: 'string', vcpus: 'number', memory_mb: 'number', disk_gb: 'number' },
  },
  allocation_transfer: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'nothing',
    args: { from_consumer: 'string', to_consumer: 'string' },
  },
  allocation_release: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'nothing',
    args: { consumer: 'string', host: 'string?' },
  },
  allocation_find: {
    since: '1.0', version: '1.0', kind: 'call', topic: 'main', starts: false, route: 'all -> records', returns: 'list',
    args: { consumer: 'string?', host: 'string?' },
  },
} as const;

/** The type of {@link RECORD_METHODS}. */
export type RecordMethods = typeof RECORD_METHODS;
