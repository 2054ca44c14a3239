import type { RequestContext } from '@ebbgate/core';
import {
  type ComputeApi,
  decodeObjects,
  Instance,
  Migration,
  MigrationPreCheckError,
  type MigrationFields,
  NovaObject,
} from '@ebbgate/compute';
import { computeMethods } from '#compute/rpc/methods.js';
import { objectRegistry } from '#compute/objects/registry.js';
import { within } from '../../support/rigs/deadline.js';
import type { Capture } from './captures.js';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';

/** How one recorded request is replayed. */
export interface CapturedRow {
  /**
   * Who is given the request: a host of the cloud, one that is not there, or a host in the middle of a flow
   * (`CAPTURED_FLOWS`).
   */
  readonly receiver: 'host' | 'nobody' | 'flow';
  /** Where it is sent; default {@link SOURCE}. */
  readonly host?: string;
  /** What is so when it comes. */
  readonly given?: (test: TestCloud, capture: Capture) => Promise<void>;
  /** What comes of it, beyond the answer. */
  readonly then?: (test: TestCloud, capture: Capture) => Promise<unknown>;
  /** Not sent by our client: Nova's sender made a fault on purpose. */
  readonly fault?: boolean;
}

function instanceIn({ args }: Capture): Instance {
  const instance = decodeObjects(args['instance']);
  if (Instance.is(instance)) return instance;
  throw new TypeError('The capture has an instance');
}

const uuidIn = (capture: Capture): string => instanceIn(capture).get('uuid');

/** The migration of the recordings. */
const MIGRATION: Partial<MigrationFields> = {
  uuid: 'b2b2b2b2-0000-4000-8000-000000000002',
  source_compute: SOURCE,
  source_node: SOURCE,
  dest_compute: DEST,
  dest_node: DEST,
  status: 'preparing',
  migration_type: 'live-migration',
};

/** The recorded instance runs here. */
async function runsOn(test: TestCloud, host: string): Promise<void> {
  await test.bootActive(host);
}

async function isBuilding(test: TestCloud, capture: Capture): Promise<void> {
  const record = instanceIn(capture).pristine().update({
    vm_state: 'building',
    task_state: 'scheduling',
    host: null,
    node: null,
    launched_at: null,
  });
  await test.cloud.records.instances.create(record);
}

async function isMigrating(test: TestCloud, capture: Capture): Promise<void> {
  await runsOn(test, SOURCE);
  await test.cloud.records.migrations.create(
    Migration.create({ ...MIGRATION, instance_uuid: uuidIn(capture) }),
  );
}

async function migrationEnds(test: TestCloud): Promise<void> {
  const { migrations } = test.cloud.records;
  for (const migration of await migrations.find({}))
    await migrations.update(migration.get('uuid'), { status: 'cancelled' });
}

async function hasArrived(test: TestCloud, capture: Capture): Promise<void> {
  await runsOn(test, DEST);
  await test.cloud.records.instances.update(uuidIn(capture), { task_state: 'migrating' });
}

/** Resolves when the host has ended a connection of a volume. */
const disconnected = new WeakMap<TestCloud, Promise<void>>();

const ACROSS = { ...MIGRATION, migration_type: 'resize', cross_cell_move: true } as const;

/** Comes from another cell, to a host that says no. */
async function isRefused(test: TestCloud, capture: Capture): Promise<void> {
  const migration = { ...ACROSS, status: 'pre-migrating', instance_uuid: uuidIn(capture) } as const;
  await test.cloud.records.migrations.create(Migration.create(migration));
  const no = new MigrationPreCheckError('Migration pre-check error: stub says no');
  test.virt(DEST).steps.failNext('check-cold-destination', no);
}

/** Comes back from another cell, and its guest cannot be made again. */
async function isNotMadeAgain(test: TestCloud, capture: Capture): Promise<void> {
  await runsOn(test, SOURCE);
  const { instances, migrations } = test.cloud.records;
  const migration = { ...ACROSS, status: 'reverting', instance_uuid: uuidIn(capture) } as const;
  await migrations.create(Migration.create(migration));
  await instances.update(uuidIn(capture), { task_state: 'resize_reverting' });
  test.virt(SOURCE).steps.failNext('finish-revert', new Error('stub: unexpected failure'));
}

/** One row for each file of recorded traffic. */
export const CAPTURED_ROWS: ReadonlyMap<string, CapturedRow> = new Map<string, CapturedRow>([
  [
    'v26-build_and_run_instance',
    {
      receiver: 'host',
      given: isBuilding,
      then: (test, capture) => test.becomes(uuidIn(capture), 'active/-'),
    },
  ],
  ['v26-cache_images-with-heartbeats', { receiver: 'host' }],
  ['v26-call-to-absent-host', { receiver: 'nobody' }],
  ['v26-cast-to-absent-host', { receiver: 'nobody' }],
  [
    'v26-check_can_live_migrate_destination',
    { receiver: 'host', host: DEST, given: (test) => runsOn(test, SOURCE) },
  ],
  ['v26-check_instance_shared_storage', { receiver: 'host' }],
  ['v26-confirm_resize', { receiver: 'flow' }],
  [
    'v26-drop_move_claim_at_destination',
    { receiver: 'host', host: DEST, given: (test) => runsOn(test, SOURCE) },
  ],
  ['v26-error-expected-exception', { receiver: 'host', host: DEST, given: isRefused }],
  ['v26-error-no-such-method', { receiver: 'host', fault: true }],
  ['v26-error-private-method', { receiver: 'host', fault: true }],
  ['v26-error-unexpected-exception', { receiver: 'host', given: isNotMadeAgain }],
  ['v26-error-unsupported-version', { receiver: 'host', fault: true }],
  ['v26-external_instance_event', { receiver: 'flow' }],
  ['v26-finish_resize', { receiver: 'flow' }],
  ['v26-finish_revert_resize', { receiver: 'flow' }],
  ['v26-get_host_uptime', { receiver: 'host' }],
  ['v26-live_migration', { receiver: 'flow' }],
  ['v26-post_live_migration_at_destination', { receiver: 'host', host: DEST, given: hasArrived }],
  ['v26-pre_live_migration', { receiver: 'host', host: DEST, given: isMigrating, then: migrationEnds }],
  ['v26-prep_resize', { receiver: 'flow' }],
  ['v26-rebuild_instance', { receiver: 'flow' }],
  [
    'v26-remove_volume_connection',
    {
      receiver: 'host',
      host: DEST,
      given: async (test) => {
        const { reached, release } = test.virt(DEST).steps.hold('disconnect-volume');
        disconnected.set(test, reached.then(release));
      },
      then: (test) => within('the connection is ended', 1000, disconnected.get(test) ?? Promise.reject()),
    },
  ],
  ['v26-resize_instance', { receiver: 'flow' }],
  ['v26-revert_resize', { receiver: 'flow' }],
  ['v26-rollback_live_migration_at_destination', { receiver: 'flow' }],
  ['v26-validate_console_port', { receiver: 'host', given: (test) => runsOn(test, SOURCE) }],
]);

/** What kind of value it is, as deep as objects tell it. */
export function kindOf(value: unknown): unknown {
  if (value instanceof NovaObject) return value.toString();
  if (Array.isArray(value)) return value.map(kindOf);
  if (value === null) return 'null';
  return typeof value === 'object' ? 'dict' : typeof value;
}

/** Fields of an object; nothing for anything else. */
export function fieldsOf(value: unknown): readonly string[] {
  return value instanceof NovaObject ? [...value.entries()].map(([name]) => name) : [];
}

/** Every object in a value, as `path: Name 1.0`. */
export function objectsIn(value: unknown, path = ''): readonly string[] {
  if (value instanceof NovaObject) {
    const members = [...value.entries()].flatMap(([name, member]) => objectsIn(member, `${path}.${name}`));
    return [`${path}: ${value.toString()}`, ...members];
  }
  if (typeof value !== 'object' || value === null || value instanceof Date) return [];
  return Object.entries(value).flatMap(([name, member]) => objectsIn(member, `${path}.${name}`));
}

/** The same value with the versions of objects that we make. */
function madeByUs(value: unknown): unknown {
  if (value instanceof NovaObject) {
    const { name, namespace, version } = value.identity;
    const fields = [...value.entries()].map(([field, member]): [string, unknown] => [
      field,
      madeByUs(member),
    ]);
    return new NovaObject({ name, namespace, version: objectRegistry.get(name)?.version ?? version }, fields);
  }
  if (Array.isArray(value)) return value.map(madeByUs);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, madeByUs(member)]));
}

/** A client whose names and arguments come from a recording: they are checked as they are sent. */
type UntypedApi = Readonly<Record<'call' | 'cast', (...given: readonly unknown[]) => Promise<unknown>>>;

/** Sends what was recorded by our client: objects made by us, and what that release does not know with no wish. */
export function sendByUs(
  api: ComputeApi,
  context: RequestContext,
  { method, kind, args }: Capture,
  host: string,
): Promise<unknown> {
  const given = madeByUs(decodeObjects(args)) as Record<string, unknown>; // a dictionary stays one
  const left = Object.entries(computeMethods.get(method)?.args ?? {}).filter(([name]) => !(name in given));
  for (const [name, what] of left) given[name] = what.endsWith('?') ? null : false;
  return (api as unknown as UntypedApi)[kind](context, method, host, given);
}
