import type { JsonSchema } from '@ebbgate/notify';
import { type Kind, type KindName } from './kinds.js';

/** Any value. */
const ANYTHING: JsonSchema = {};

/** Objects that the table names by their own name. */
const OBJECTS: Readonly<Partial<Record<KindName, string>>> = {
  Instance: 'Instance',
  Migration: 'Migration',
  Flavor: 'Flavor',
  ImageMeta: 'ImageMeta',
  RequestSpec: 'RequestSpec',
  MigrateData: 'LibvirtLiveMigrateData',
  BlockDevices: 'BlockDeviceMappingList',
  NetworkRequests: 'NetworkRequestList',
};
const OBJECT = 'NovaObject';
const EVENT = 'InstanceExternalEvent';

/** The versioned objects of the table, by the names under which kinds refer to them. */
export const OBJECT_SCHEMAS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  [OBJECT, EVENT, ...Object.values(OBJECTS)].map((name) => [name, objectSchema(name)]),
);

function objectSchema(name: string): JsonSchema {
  return {
    type: 'object',
    description: name === OBJECT ? 'Any versioned object of Nova' : `Nova's object ${name}, of any version`,
    required: ['nova_object.name', 'nova_object.namespace', 'nova_object.version', 'nova_object.data'],
    properties: {
      'nova_object.name': name === OBJECT ? { type: 'string' } : { const: name },
      'nova_object.namespace': { const: 'nova' },
      'nova_object.version': { type: 'string' },
      'nova_object.data': { type: 'object' },
      'nova_object.changes': { type: 'array', items: { type: 'string' } },
    },
  };
}

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const listOf = (name: string): JsonSchema => ({ type: 'array', items: refTo(name) });

const PLAIN: Readonly<Partial<Record<KindName, JsonSchema>>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  dict: { type: 'object' },
  list: { type: 'array' },
  nothing: { type: 'null' },
  object: refTo(OBJECT),
  Instances: listOf('Instance'),
  Migrations: listOf('Migration'),
  Events: listOf(EVENT),
};

/** The JSON Schema of a kind of value, as it is on the wire. */
export function kindSchema(word: Kind): JsonSchema {
  const isNullable = word.endsWith('?');
  const name = (isNullable ? word.slice(0, -1) : word) as KindName; // by the type of Kind
  const object = OBJECTS[name];
  const schema = object === undefined ? (PLAIN[name] ?? ANYTHING) : refTo(object);
  return isNullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}

/** That of arguments by name. All of them travel, null or not. */
export function argsSchema(args: Readonly<Record<string, Kind>>): JsonSchema {
  const properties = Object.entries(args).map(([name, kind]) => [name, kindSchema(kind)] as const);
  return {
    type: 'object',
    required: Object.keys(args),
    properties: Object.fromEntries(properties),
  };
}
