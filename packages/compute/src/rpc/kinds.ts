import { BlockDeviceMappingList } from '../objects/block-device.js';
import { Flavor } from '../objects/flavor.js';
import { ImageMeta } from '../objects/image-meta.js';
import { Instance } from '../objects/instance.js';
import type { InstanceExternalEvent } from '../objects/external-event.js';
import { LibvirtLiveMigrateData } from '../objects/migrate-data.js';
import { Migration } from '../objects/migration.js';
import { NetworkRequestList } from '../objects/network-request.js';
import { NovaObject } from '../objects/nova-object.js';
import { RequestSpec } from '../objects/request-spec.js';

/** Plain members by name. */
export type Dictionary = Readonly<Record<string, unknown>>;

/** What an argument or a result can be, each by a word; a `?` behind the word allows null. */
export interface KindTypes {
  /** Text. */
  readonly string: string;
  /** A number, and not its text. */
  readonly number: number;
  /** True or false. */
  readonly boolean: boolean;
  /** Plain members by name: no versioned object. */
  readonly dict: Dictionary;
  /** A list, whatever is in it. */
  readonly list: readonly unknown[];
  /** Not looked at; can be null. */
  readonly any: unknown;
  /** No result: null on the wire. */
  readonly nothing: null | undefined;
  /** Any versioned object. */
  readonly object: NovaObject;
  /** Nova's object Instance, of any version, as with all objects here. */
  readonly Instance: Instance;
  /** Instances in a plain list, which is how Nova sends them. */
  readonly Instances: readonly Instance[];
  /** What `external_instance_event` brings, in a plain list. */
  readonly Events: readonly InstanceExternalEvent[];
  /** Nova's object Migration. */
  readonly Migration: Migration;
  /** Migrations in a plain list. */
  readonly Migrations: readonly Migration[];
  /** Nova's object Flavor. */
  readonly Flavor: Flavor;
  /** Nova's object ImageMeta. */
  readonly ImageMeta: ImageMeta;
  /** Nova's object RequestSpec. */
  readonly RequestSpec: RequestSpec;
  /** Nova's object LibvirtLiveMigrateData: what check and preparation of a live migration give and take. */
  readonly MigrateData: LibvirtLiveMigrateData;
  /** Nova's object BlockDeviceMappingList: an object that has the list. */
  readonly BlockDevices: BlockDeviceMappingList;
  /** Nova's object NetworkRequestList: an object that has the list. */
  readonly NetworkRequests: NetworkRequestList;
}

/** The name of a kind of value. */
export type KindName = keyof KindTypes;
/** One word of the table. */
export type Kind = KindName | `${KindName}?`;

/** The type that a word stands for. */
export type KindType<Word extends Kind> = Word extends KindName
  ? KindTypes[Word]
  : Word extends `${infer Name extends KindName}?`
    ? KindTypes[Name] | null
    : never;

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const CHECKS: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  KindName,
  (value: unknown) => boolean
>([
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['boolean', (value) => typeof value === 'boolean'],
  ['dict', isDictionary],
  ['list', isList],
  ['any', () => true],
  ['nothing', (value) => value === null || value === undefined],
  ['object', (value) => value instanceof NovaObject],
  ['Instance', Instance.is],
  ['Instances', (value) => isList(value) && value.every(Instance.is)],
  ['Events', (value) => isList(value) && value.every((event) => event instanceof NovaObject)],
  ['Migration', Migration.is],
  ['Migrations', (value) => isList(value) && value.every(Migration.is)],
  ['Flavor', Flavor.is],
  ['ImageMeta', ImageMeta.is],
  ['RequestSpec', RequestSpec.is],
  ['MigrateData', LibvirtLiveMigrateData.is],
  ['BlockDevices', BlockDeviceMappingList.is],
  ['NetworkRequests', NetworkRequestList.is],
]);

function isDictionary(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof NovaObject) && !(value instanceof Date);
}

/** Is `value`, decoded, of the kind that `word` says? */
export function isOfKind(word: Kind, value: unknown): boolean {
  const nullable = word.endsWith('?');
  if (nullable && value === null) return true;
  const check = CHECKS.get(nullable ? word.slice(0, -1) : word);
  return check !== undefined && check(value);
}
