/** What a message, a file or an argument could have changed for the whole process. */
const SHARED: readonly object[] = [
  Object,
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Number.prototype,
  Map.prototype,
  Set.prototype,
  Promise.prototype,
  Error.prototype,
  Buffer.prototype,
];

type Members = ReadonlyMap<PropertyKey, PropertyDescriptor | undefined>;

/** The shared prototypes as they are now, to be compared later: each member, and what it is. */
export class Prototypes {
  readonly #objects: readonly object[];
  readonly #before: readonly Members[];

  constructor(objects: readonly object[] = SHARED) {
    this.#objects = objects;
    this.#before = objects.map(membersOf);
  }

  /** The members that have come, gone or changed since; empty when none has. */
  changes(): string[] {
    return this.#objects.flatMap((object, index) => {
      const before = this.#before[index] ?? new Map<PropertyKey, undefined>();
      const now = membersOf(object);
      const names = new Set([...before.keys(), ...now.keys()]);
      return [...names].filter((name) => !isSame(before.get(name), now.get(name))).map(String);
    });
  }
}

function membersOf(object: object): Members {
  return new Map(
    Reflect.ownKeys(object).map((name) => [name, Object.getOwnPropertyDescriptor(object, name)]),
  );
}

function isSame(one: PropertyDescriptor | undefined, other: PropertyDescriptor | undefined): boolean {
  if (!one || !other) return one === other;
  return Object.is(one.value, other.value) && one.get === other.get && one.set === other.set;
}
