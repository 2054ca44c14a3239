/** A function that stands on an endpoint, whatever it takes. */
export type AnyFunction = (...args: never[]) => unknown;

/** Which methods of an endpoint may be called from outside (SEC-02). Asked once a method, when the server is made. */
export interface AccessPolicy {
  /** May this method be called from outside? A method that may not looks like one that is not there. */
  allows(endpoint: object, name: string, method: AnyFunction): boolean;
}

const exposedFunctions = new WeakSet<object>();

/**
 * Marks a method as meant for the outside, for {@link explicitAccessPolicy}. Returns it.
 *
 * @example
 * class Endpoint {
 *   static { expose(Endpoint.prototype.ping); }
 *   ping(): string { return 'pong'; }
 * }
 *
 * @throws TypeError for what is no function
 */
export function expose<Method extends AnyFunction>(method: Method): Method {
  if (typeof method !== 'function') throw new TypeError('expose takes a function');
  exposedFunctions.add(method);
  return method;
}

/** Every method (oslo's LegacyRPCAccessPolicy). */
export const legacyAccessPolicy: AccessPolicy = Object.freeze({ allows: () => true });

/** Every method whose name does not begin with an underscore (oslo's DefaultRPCAccessPolicy). The default. */
export const defaultAccessPolicy: AccessPolicy = Object.freeze({
  allows: (_endpoint: object, name: string) => !name.startsWith('_'),
});

/** Only methods marked by {@link expose} or named in the endpoint's `exposed` (oslo's ExplicitRPCAccessPolicy). */
export const explicitAccessPolicy: AccessPolicy = Object.freeze({
  allows: (endpoint: object, name: string, method: AnyFunction) =>
    exposedFunctions.has(method) || exposedNames(endpoint).includes(name),
});

/** The reserved attribute `exposed`, or none. Whether it is an array of text is checked by `collectMethods`. */
function exposedNames(endpoint: object): readonly unknown[] {
  const { exposed } = endpoint as { exposed?: unknown }; // may be there or not
  return Array.isArray(exposed) ? exposed : [];
}
