import { expectedExceptions, ValidationError } from '@ebbgate/rpc';
import type { Expected, Records, Repository } from '../db/repositories.js';
import { ObjectFormatError, RecordNotFoundError, UnexpectedStateError } from '../errors.js';
import { backport } from '../objects/backport.js';
import { encodeObjects } from '../objects/codec.js';
import { NAMESPACE } from '../objects/definition.js';
import type { Instance, InstanceFields } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import { NovaObject } from '../objects/nova-object.js';
import { makeEndpoint } from '../rpc/endpoint.js';
import type { Dictionary } from '../rpc/kinds.js';
import { OBJECT_METHODS, OBJECTS_RPC_VERSION } from '../rpc/object-methods.js';

type ObjectRecords = Pick<Records, 'instances' | 'migrations'>;
/** Resolves with the record as it is then. */
type ObjectAction = (
  records: ObjectRecords,
  object: NovaObject,
  kwargs: ReadonlyMap<string, unknown>,
) => Promise<NovaObject>;
type ClassAction = (records: ObjectRecords, args: readonly unknown[]) => Promise<NovaObject>;

/** What is done with an object that a host has. */
const OBJECT_ACTIONS: ReadonlyMap<string, ObjectAction> = new Map<string, ObjectAction>([
  ['Instance.save', ({ instances }, object, kwargs) => save(instances, object, expectedStates(kwargs))],
  ['Instance.refresh', async ({ instances }, object) => untyped(await instances.get(uuidOf(object)))],
  ['Migration.save', ({ migrations }, object) => save(migrations, object, {})],
  ['Migration.refresh', async ({ migrations }, object) => untyped(await migrations.get(uuidOf(object)))],
]);

/** How a host gets one. */
const CLASS_ACTIONS: ReadonlyMap<string, ClassAction> = new Map<string, ClassAction>([
  ['Instance.get_by_uuid', async ({ instances }, [uuid]) => untyped(await instances.get(String(uuid)))],
  ['InstanceList.get_by_host', ({ instances }, [host]) => listAt(instances, String(host))],
  ['Migration.get_by_uuid', async ({ migrations }, [uuid]) => untyped(await migrations.get(String(uuid)))],
  ['Migration.get_by_id', ({ migrations }, [id]) => migrationOf(migrations, Number(id))],
]);

const ANSWERS = [ObjectFormatError, RecordNotFoundError, UnexpectedStateError, ValidationError];

/**
 * What Nova's computes ask of a conductor: to make an object older for them, and to read and write instances and
 * migrations. Of the other objects there are no records here: they are refused (ValidationError, `ERR_VALIDATION`).
 */
export function objectsEndpoint(records: ObjectRecords): object {
  return makeEndpoint(
    OBJECT_METHODS,
    { version: OBJECTS_RPC_VERSION },
    {
      object_action: expectedExceptions(ANSWERS, async (_context, { objinst, objmethod, kwargs }) => {
        const act = named(OBJECT_ACTIONS, 'object_action', `${objinst.identity.name}.${objmethod}`);
        const stored = await act(records, objinst, new Map(Object.entries(kwargs)));
        return [{ ...differing(objinst, stored), obj_what_changed: [] }, null];
      }),
      object_class_action_versions: expectedExceptions(ANSWERS, async (_context, args) => {
        const name = `${args.objname}.${args.objmethod}`;
        const act = named(CLASS_ACTIONS, 'object_class_action_versions', name);
        return backport(await act(records, args.args), versionsIn(args.object_versions));
      }),
      object_backport_versions: expectedExceptions(
        ANSWERS,
        (_context, { objinst, object_versions: versions }) => backport(objinst, versionsIn(versions)),
      ),
    },
  );
}

function named<Action>(actions: ReadonlyMap<string, Action>, method: string, name: string): Action {
  const action = actions.get(name);
  if (action) return action;
  const known = [...actions.keys()].join(', ');
  throw new ValidationError(method, [
    { path: 'objmethod', message: `must be one of ${known}, not ${name.slice(0, 64)}` },
  ]);
}

async function save<Fields extends object>(
  repository: Repository<NovaObject<Fields>, Fields>,
  object: NovaObject,
  expected: Expected<Fields>,
): Promise<NovaObject> {
  const changed = new Set(object.changes.filter((name) => name !== 'id' && name !== 'uuid'));
  const changes = Object.fromEntries([...object.entries()].filter(([name]) => changed.has(name)));
  return untyped(await repository.update(uuidOf(object), changes as Partial<Fields>, expected)); // by name, from the wire
}

/** A list, one state, or null when any will do. */
function expectedStates(kwargs: ReadonlyMap<string, unknown>): Expected<InstanceFields> {
  const states = (['vm_state', 'task_state'] as const).map((name) => [
    name,
    kwargs.get(`expected_${name}`) ?? null,
  ]);
  const given = states.filter(([, state]) => state !== null);
  return Object.fromEntries(
    given.map(([name, state]) => [name, Array.isArray(state) ? state : [state]]),
  ) as Expected<InstanceFields>; // lists; no state that there is not is ever met
}

async function listAt(instances: Records['instances'], host: string): Promise<NovaObject> {
  const objects = await instances.find({ host });
  return new NovaObject({ name: 'InstanceList', namespace: NAMESPACE, version: '2.6' }, [
    ['objects', objects],
  ]);
}

async function migrationOf(migrations: Records['migrations'], id: number): Promise<NovaObject> {
  const [migration] = await migrations.find({ id });
  if (!migration) throw new RecordNotFoundError('migration', String(id));
  return untyped(migration);
}

/** What of the object is another in the record, as far as the object carries it. */
function differing(object: NovaObject, stored: NovaObject): Dictionary {
  const text = (value: unknown): string => JSON.stringify(encodeObjects(value));
  return Object.fromEntries(
    [...stored.entries()].filter(
      ([name, value]) => object.has(name) && text(object.get(name)) !== text(value),
    ),
  );
}

function uuidOf(object: NovaObject): string {
  const uuid = object.find('uuid');
  if (typeof uuid === 'string') return uuid;
  throw new ObjectFormatError(`${object.identity.name} tells no uuid`);
}

/** An object of one kind as one of any. */
function untyped(object: Instance | Migration | NovaObject): NovaObject {
  return object;
}

function versionsIn(manifest: Dictionary): ReadonlyMap<string, string> {
  return new Map(Object.entries(manifest).map(([name, version]) => [name, String(version)]));
}
