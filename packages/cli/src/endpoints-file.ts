import { type MaybePromise, Target, type Transport } from '@ebbgate/core';
import type { TaskRegistry } from '@ebbgate/service';
import { importFile, type ModuleExports } from './module-import.js';
import { UsageError } from './usage-error.js';

/** What an endpoints file gets when its default export is a function. */
export interface EndpointsContext {
  /** The way to the broker on which the endpoints are served: for clients of their own. Closed after the drain. */
  readonly transport: Transport;
  /** What it listens to. */
  readonly topic: string;
  /** The name of the server. */
  readonly server: string;
  /** What a drain waits for. Requests are in it by themselves; work that goes on without one belongs in it too. */
  readonly tasks: TaskRegistry;
  /** Resolves when the server listens; never, when it cannot. */
  readonly listening: Promise<void>;
}

/** A default export that makes the endpoints. */
export type EndpointsFactory = (context: EndpointsContext) => MaybePromise<object | readonly object[]>;

/** Namespace and version of endpoints that have no `target` of their own. */
export interface DefaultTarget {
  readonly namespace: string | undefined;
  readonly version: string | undefined;
}

/** Exports with a meaning of their own. */
const RESERVED: ReadonlySet<string> = new Set(['default', 'target', 'exposed']);

const RIGHT =
  'It may export functions, objects with methods, or by default an endpoint, a list of them, or a function that makes them';

/**
 * The endpoints of a module: its default export if it has one (an endpoint, a list of them, or a function that makes
 * either), else every exported object with methods, and one endpoint of all exported functions. A `target` may be a
 * plain object.
 *
 * @param file - relative to `cwd`
 * @throws UsageError when it cannot be loaded or holds no endpoint; InvalidTargetError for a bad `target`
 */
export async function loadEndpoints(
  file: string,
  cwd: string,
  context: EndpointsContext,
  defaults: DefaultTarget,
): Promise<object[]> {
  const exports = await importFile(file, cwd);
  const found = exports.has('default')
    ? await fromDefault(file, exports.get('default'), context)
    : fromNamed(exports);
  if (found.length === 0) throw new UsageError(`${file} exports no endpoint. ${RIGHT}`);
  for (const [index, endpoint] of found.entries()) {
    if (!hasMethods(endpoint))
      throw new UsageError(`Endpoint ${index + 1} of ${file} has no methods. ${RIGHT}`);
    giveTarget(endpoint, defaults, `Endpoint ${index + 1} of ${file}`);
  }
  return found;
}

async function fromDefault(file: string, exported: unknown, context: EndpointsContext): Promise<object[]> {
  if (isClass(exported))
    throw new UsageError(
      `${file} exports a class; export an instance of it: export default new ${exported.name}()`,
    );
  const made: unknown =
    typeof exported === 'function' ? await make(file, exported as EndpointsFactory, context) : exported;
  const list: readonly unknown[] = Array.isArray(made) ? made : [made];
  return list.map((endpoint) => {
    if (isClass(endpoint))
      throw new UsageError(`${file} gives the class ${endpoint.name}; give an instance of it`);
    if (typeof endpoint === 'object' && endpoint !== null) return endpoint;
    throw new UsageError(
      `${file} gives ${endpoint === null ? 'null' : `a ${typeof endpoint}`} for an endpoint. ${RIGHT}`,
    );
  });
}

async function make(file: string, factory: EndpointsFactory, context: EndpointsContext): Promise<unknown> {
  try {
    return await factory(context);
  } catch (cause) {
    throw new UsageError(`The default export of ${file} failed`, { cause });
  }
}

function fromNamed(exports: ModuleExports): object[] {
  const served = [...exports].filter(([name, value]) => !RESERVED.has(name) && !isClass(value));
  const endpoints = served.map(([, value]) => value).filter(isEndpoint);
  const functions = served.filter(([, value]) => typeof value === 'function');
  if (functions.length === 0) return endpoints;
  const about = [...exports].filter(([name]) => name === 'target' || name === 'exposed');
  return [Object.fromEntries([...functions, ...about]), ...endpoints];
}

function isEndpoint(value: unknown): value is object {
  return typeof value === 'object' && value !== null && hasMethods(value);
}

/** Own or inherited, as the dispatcher takes them. */
function hasMethods(endpoint: object): boolean {
  for (
    let at: unknown = endpoint;
    typeof at === 'object' && at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name !== 'constructor' && typeof value === 'function' && !isClass(value)) return true;
    }
  }
  return false;
}

function isClass(value: unknown): value is { readonly name: string } {
  return (
    typeof value === 'function' && Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false
  );
}

/** Its own target, or the default one, as the Target that the dispatcher wants. Another copy of ours may have made it. */
function giveTarget(endpoint: object, defaults: DefaultTarget, name: string): void {
  const own: unknown = (endpoint as { target?: unknown }).target; // may be there or not
  if (own instanceof Target) return;
  if (own !== undefined && own !== null && typeof own !== 'object') {
    throw new UsageError(
      `${name} has a target that is a ${typeof own}; it must be an object like { version: '1.2' }`,
    );
  }
  if (!own && defaults.namespace === undefined && defaults.version === undefined) return;
  const target = own ? copied(own) : new Target(defaults);
  if (
    !Reflect.defineProperty(endpoint, 'target', {
      value: target,
      configurable: true,
      enumerable: false,
      writable: true,
    })
  ) {
    throw new UsageError(`${name} is frozen: give it a target that is a Target of @ebbgate/core`);
  }
}

function copied(target: object): Target {
  const { acceptedNamespaces, ...members } = target as { acceptedNamespaces?: unknown }; // a Target of another copy has it
  const legacy = Array.isArray(acceptedNamespaces)
    ? { legacyNamespaces: acceptedNamespaces.slice(1) as (string | null)[] }
    : {};
  return new Target({ ...members, ...legacy }); // which checks every member
}
