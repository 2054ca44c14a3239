import { ObjectFormatError } from '../errors.js';
import { NAMESPACE } from './definition.js';
import { NovaObject, type ObjectIdentity } from './nova-object.js';
import { objectRegistry } from './registry.js';
import { secondsText } from './seconds-text.js';

const NAME = 'nova_object.name';
const SPACE = 'nova_object.namespace';
const VERSION = 'nova_object.version';
const DATA = 'nova_object.data';
const CHANGES = 'nova_object.changes';

const VERSION_FORM = /^(\d{1,6})\.(\d{1,6})(?:\.\d{1,6})?$/;
const DATE_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?$/;
/** Deeper than any request of Nova by far; hostile depth ends here and not in the stack. */
const MAX_DEPTH = 64;

/**
 * Makes objects of all that is an object in `value`, however deep: arguments, results. Fields and objects that we do
 * not know are kept. A newer minor version is taken as it is; another major version is refused.
 * @throws ObjectFormatError (`ERR_OBJECT`) for what cannot be read.
 */
export function decodeObjects(value: unknown): unknown {
  return decodeValue(value, 0);
}

/**
 * The wire form of `value`: each object as `nova_object.*` members, each date as `2026-01-01T00:00:00Z`. Fields that are
 * not set are left out, null stays null.
 */
export function encodeObjects(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value; // most are plain
  if (value instanceof NovaObject) return encodeObject(value as NovaObject); // of whatever kind
  if (value instanceof Date) return secondsText(value);
  if (Array.isArray(value)) return value.map(encodeObjects);
  return mapMembers(value, encodeObjects);
}

function encodeObject(object: NovaObject): Record<string, unknown> {
  const { name, namespace, version } = object.identity;
  const data: Record<string, unknown> = {};
  for (const [field, value] of object.entries()) setMember(data, field, encodeObjects(value));
  const wire: Record<string, unknown> = {
    [NAME]: name,
    [SPACE]: namespace,
    [VERSION]: version,
    [DATA]: data,
  };
  const { changes } = object;
  if (changes.length > 0) wire[CHANGES] = changes;
  return wire;
}

/** Field names may come from the wire: one of them is not to be set but defined. */
function setMember(data: Record<string, unknown>, field: string, value: unknown): void {
  if (field !== '__proto__') data[field] = value;
  else Object.defineProperty(data, field, { value, enumerable: true, writable: true, configurable: true });
}

function decodeValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH)
    throw new ObjectFormatError(`An object is nested more than ${MAX_DEPTH} levels deep`);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((member) => decodeValue(member, depth + 1));
  if (Object.hasOwn(value, NAME)) return decodeObject(value as Record<string, unknown>, depth);
  return mapMembers(value, (member) => decodeValue(member, depth + 1));
}

function decodeObject(wire: Record<string, unknown>, depth: number): NovaObject {
  const name = textOf(wire, NAME);
  const namespace = textOf(wire, SPACE);
  const version = textOf(wire, VERSION);
  const known = namespace === NAMESPACE ? objectRegistry.get(name) : undefined;
  checkVersion(name, version, known?.version);
  const data = wire[DATA];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ObjectFormatError(`${name}: ${DATA} must be a dictionary`);
  }
  const fields = new Map<string, unknown>();
  for (const field of Object.keys(data)) {
    const value = (data as Record<string, unknown>)[field]; // a dictionary, as just seen
    const isDate = known?.dates.has(field) === true;
    fields.set(field, isDate ? decodeDate(name, field, value) : decodeValue(value, depth + 1));
  }
  return NovaObject.owning(identityOf(name, namespace, version), fields, changesOf(name, wire));
}

/** Most objects are of few kinds and versions: those share their identities. */
const identities = new Map<string, ObjectIdentity>();
const MOST_IDENTITIES = 500;

function identityOf(name: string, namespace: string, version: string): ObjectIdentity {
  const key = `${namespace} ${name} ${version}`;
  const known = identities.get(key);
  if (known?.name === name && known.version === version) return known; // the parts may hold blanks
  const identity = Object.freeze({ name, namespace, version });
  if (identities.size >= MOST_IDENTITIES) identities.clear();
  identities.set(key, identity);
  return identity;
}

function textOf(wire: Record<string, unknown>, member: string): string {
  const text = wire[member];
  if (typeof text === 'string' && text.length > 0 && text.length <= 255) return text;
  throw new ObjectFormatError(`${member} must be text of 1 to 255 characters`);
}

function checkVersion(name: string, version: string, known: string | undefined): void {
  if (version === known) return;
  const major = VERSION_FORM.exec(version)?.[1];
  if (major === undefined) throw new ObjectFormatError(`${name}: "${version}" is no version`);
  const ours = known === undefined ? undefined : VERSION_FORM.exec(known)?.[1];
  if (ours !== undefined && ours !== major) {
    throw new ObjectFormatError(
      `${name} ${version} cannot be read: known is ${String(known)}, and the major differs`,
    );
  }
}

function changesOf(name: string, wire: Record<string, unknown>): string[] | undefined {
  const changes = wire[CHANGES];
  if (changes === undefined || changes === null) return undefined;
  if (Array.isArray(changes) && changes.every((change): change is string => typeof change === 'string'))
    return changes;
  throw new ObjectFormatError(`${name}: ${CHANGES} must be a list of field names`);
}

function decodeDate(name: string, field: string, value: unknown): Date | null {
  if (value === null || value instanceof Date) return value;
  if (typeof value === 'string' && DATE_FORM.test(value)) {
    // Nova's times are UTC, also where it leaves out the mark.
    const date = new Date(/(?:Z|[+-]\d\d:\d\d)$/.test(value) ? value : `${value}Z`);
    if (!Number.isNaN(date.getTime())) return date;
  }
  throw new ObjectFormatError(`${name}.${field} is no time`);
}

/** A copy of a dictionary whose members come from the wire: without a prototype to hit. */
function mapMembers(value: object, map: (member: unknown) => unknown): Record<string, unknown> {
  const copy = Object.create(null) as Record<string, unknown>; // as said above
  for (const [name, member] of Object.entries(value)) copy[name] = map(member);
  return copy;
}
