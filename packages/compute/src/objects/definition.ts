import { NovaObject } from './nova-object.js';

/** How we know one kind of object. */
export interface ObjectDefinition<Fields extends object> {
  /** On the wire. */
  readonly name: string;
  /** The newest version that we know; what we make has it. Receivers of Nova's Zed release know it too. */
  readonly version: string;
  /** Fields that are points in time: text on the wire, `Date` here. */
  readonly dates: ReadonlySet<string>;
  /** Makes an object; all its fields count as changed. */
  readonly create: (fields: Partial<Fields>) => NovaObject<Fields>;
  /** Is it one of this kind, whatever its version? */
  readonly is: (value: unknown) => value is NovaObject<Fields>;
}

export const NAMESPACE = 'nova';

/** Declares a kind of object. */
export function defineObject<Fields extends object>(
  name: string,
  version: string,
  dates: readonly (keyof Fields & string)[] = [],
): ObjectDefinition<Fields> {
  const identity = Object.freeze({ name, namespace: NAMESPACE, version });
  return Object.freeze({
    name,
    version,
    dates: new Set<string>(dates),
    create: (fields: Partial<Fields>) => new NovaObject<Fields>(identity).update(fields),
    is: (value: unknown): value is NovaObject<Fields> =>
      value instanceof NovaObject && value.identity.name === name && value.identity.namespace === NAMESPACE,
  });
}
