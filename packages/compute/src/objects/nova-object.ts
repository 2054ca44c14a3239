import { FieldUnsetError } from '../errors.js';

/** What says which kind of object it is. */
export interface ObjectIdentity {
  /** Of the object type. */
  readonly name: string;
  /** `nova` for all of ours. */
  readonly namespace: string;
  /** `major.minor`, as it came, or as we make it. */
  readonly version: string;
}

const NOTHING: readonly never[] = [];

/** The names of the fields that `Fields` declares. */
export type FieldName<Fields extends object> = keyof Fields & string;

/**
 * One versioned object as Nova sends it: named fields, some of them absent, and the names of those that were changed.
 * `Fields` types what the code uses; fields that it does not know are kept and sent on. An absent field is not null.
 */
export class NovaObject<Fields extends object = Record<string, unknown>> {
  /** Its name, namespace and version on the wire. */
  readonly identity: ObjectIdentity;
  #fields: Map<string, unknown>;
  /** Undefined: none. Most objects never have one. */
  #changes: Set<string> | undefined;

  constructor(
    identity: ObjectIdentity,
    fields: Iterable<readonly [string, unknown]> = NOTHING,
    changes: Iterable<string> = NOTHING,
  ) {
    this.identity = identity;
    this.#fields = new Map(fields);
    if (changes !== NOTHING) this.#changes = new Set(changes);
  }

  /** One that takes over `fields`, where the constructor copies: for whoever has made them for it. */
  static owning(
    identity: ObjectIdentity,
    fields: Map<string, unknown>,
    changes: Iterable<string> | undefined,
  ): NovaObject {
    const object = new NovaObject(identity, NOTHING, changes ?? NOTHING);
    object.#fields = fields;
    return object;
  }

  /** Does the object carry the field? Null is a value. */
  has(field: FieldName<Fields>): boolean {
    return this.#fields.has(field);
  }

  /**
   * The field, which may be null.
   * @throws FieldUnsetError (`ERR_FIELD_UNSET`) when the object does not carry it
   */
  get<Name extends FieldName<Fields>>(field: Name): Fields[Name] {
    if (!this.#fields.has(field)) throw new FieldUnsetError(this.identity.name, field);
    return this.#fields.get(field) as Fields[Name]; // checked for its kind when it was decoded or set
  }

  /** The field, or undefined when the object does not carry it. */
  find<Name extends FieldName<Fields>>(field: Name): Fields[Name] | undefined {
    return this.#fields.get(field) as Fields[Name] | undefined; // as in get()
  }

  /** Sets fields and records them as changed. An undefined value leaves its field as it is. */
  update(values: Partial<Fields>): this {
    for (const [field, value] of Object.entries(values)) {
      if (value === undefined) continue;
      this.#fields.set(field, value);
      (this.#changes ??= new Set()).add(field);
    }
    return this;
  }

  /** All fields that it carries, in their order, unknown ones included. */
  entries(): IterableIterator<[string, unknown]> {
    return this.#fields.entries();
  }

  /** Names of the fields changed since it was made, read or saved, in the order of the changes. */
  get changes(): readonly string[] {
    return this.#changes ? [...this.#changes] : [];
  }

  /** A deep copy with no changes recorded: what a repository hands out. */
  pristine(): NovaObject<Fields> {
    const copy = new NovaObject<Fields>(this.identity);
    copy.#fields = copyFields(this.#fields);
    return copy;
  }

  /** A deep copy, its changes included. */
  clone(): NovaObject<Fields> {
    const copy = this.pristine();
    copy.#changes = this.#changes && new Set(this.#changes);
    return copy;
  }

  /** Its name and version, without its fields. */
  toString(): string {
    const { name, version } = this.identity;
    return `${name} ${version}`;
  }
}

function copyFields(fields: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const copy = new Map<string, unknown>();
  for (const [name, value] of fields) copy.set(name, copyValue(value));
  return copy;
}

/** A deep copy of what a field may hold: objects, lists, dictionaries, dates and plain values. */
function copyValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof NovaObject) return value.clone();
  if (value instanceof Date) return new Date(value);
  if (Array.isArray(value)) return value.map(copyValue);
  const copy = Object.create(null) as Record<string, unknown>; // names come from the wire
  for (const [name, member] of Object.entries(value)) copy[name] = copyValue(member);
  return copy;
}
