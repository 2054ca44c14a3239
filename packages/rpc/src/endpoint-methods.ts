import { type RequestContext, Target } from '@ebbgate/core';
import type { AccessPolicy, AnyFunction } from './access-policy.js';

/** A method as the dispatcher calls it: bound to its endpoint, arguments by name. */
export type EndpointMethod = (context: RequestContext, args: Record<string, unknown>) => unknown;

/** Never methods, whatever the policy: the attributes with a meaning of their own. */
const RESERVED: ReadonlySet<string> = new Set(['constructor', 'target', 'exposed']);

/**
 * What may be called on an endpoint: its function-valued properties, own and inherited up to (not including)
 * Object.prototype, that the policy allows. Getters are not invoked and classes are no methods. Done once, when the server is made:
 * names from the wire are looked up in the map and never on the object.
 *
 * @throws TypeError naming the endpoint when it is no object, when `target` is no Target, when `exposed` is no array of
 * names of its methods (RPC-15)
 */
export function collectMethods(endpoint: object, policy: AccessPolicy): ReadonlyMap<string, EndpointMethod> {
  const functions = functionsOf(endpoint);
  checkReserved(endpoint, functions);
  const methods = new Map<string, EndpointMethod>();
  for (const [name, method] of functions) {
    // A method takes what its author declared; that callers send it is what contracts check.
    if (policy.allows(endpoint, name, method)) methods.set(name, method.bind(endpoint) as EndpointMethod);
  }
  return methods;
}

function functionsOf(endpoint: object): ReadonlyMap<string, AnyFunction> {
  checkIsObject(endpoint);
  const functions = new Map<string, AnyFunction>();
  const seen = new Set(RESERVED);
  let at: unknown = endpoint;
  while (typeof at === 'object' && at !== null && at !== Object.prototype) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (seen.has(name)) continue; // what hides an inherited method hides it here too
      seen.add(name);
      if (isMethod(property.value)) functions.set(name, property.value);
    }
    at = Object.getPrototypeOf(at);
  }
  return functions;
}

function checkIsObject(endpoint: unknown): void {
  if (typeof endpoint === 'function') {
    const name = endpoint.name === '' ? 'A function or class' : endpoint.name;
    throw new TypeError(
      `${name} is no endpoint: an endpoint is an object; give an instance (new ${endpoint.name}())`,
    );
  }
  if (typeof endpoint !== 'object' || endpoint === null) {
    throw new TypeError(
      `An endpoint is an object, not ${endpoint === null ? 'null' : `a ${typeof endpoint}`}`,
    );
  }
}

function isMethod(value: unknown): value is AnyFunction {
  if (typeof value !== 'function') return false;
  return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable !== false; // that of classes cannot be replaced
}

function checkReserved(endpoint: object, functions: ReadonlyMap<string, AnyFunction>): void {
  const { target, exposed } = endpoint as { target?: unknown; exposed?: unknown }; // may be there or not
  if (target !== undefined && target !== null && !(target instanceof Target)) {
    throw new TypeError(
      `The attribute "target" of ${endpointName(endpoint)} is reserved: it must be a Target, not a value of type ${typeof target}`,
    );
  }
  if (exposed === undefined || exposed === null) return;
  if (!Array.isArray(exposed) || !exposed.every((name) => typeof name === 'string')) {
    throw new TypeError(
      `The attribute "exposed" of ${endpointName(endpoint)} is reserved: it must be an array of method names`,
    );
  }
  const missing = exposed.find((name) => !functions.has(name));
  if (missing !== undefined) {
    throw new TypeError(
      `The attribute "exposed" of ${endpointName(endpoint)} names "${missing}", which is none of its methods`,
    );
  }
}

/** What an endpoint is called in messages: its class. */
export function endpointName(endpoint: object): string {
  const type: unknown = (endpoint as { constructor?: unknown }).constructor; // absent without a prototype
  if (typeof type !== 'function' || type === Object || type.name === '') return 'an endpoint';
  return `endpoint ${type.name}`;
}

const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const versions = new WeakMap<object, ReadonlyMap<string, string>>();

/** Says in which version each method of an endpoint appeared, by name; contracts do. */
export function setMethodVersions(endpoint: object, since: ReadonlyMap<string, string>): void {
  versions.set(endpoint, since);
}

/** In which version each method appeared, by name; empty for endpoints that do not say so. */
export function methodVersions(endpoint: object): ReadonlyMap<string, string> {
  return versions.get(endpoint) ?? NO_VERSIONS;
}
