import { Target } from '@ebbgate/core';
import { type AccessPolicy, defaultAccessPolicy } from './access-policy.js';
import { collectMethods, type EndpointMethod, methodVersions } from './endpoint-methods.js';
import { NoSuchMethodError, UnsupportedVersionError } from './errors.js';
import type { RpcRequest } from './envelope.js';
import { isCompatible } from './version.js';

/** One endpoint as the dispatcher sees it: its methods are in a map, nothing is ever looked up on the object. */
interface Registered {
  readonly namespaces: ReadonlySet<string | null>;
  readonly version: string;
  readonly methods: ReadonlyMap<string, EndpointMethod>;
  /** In which version each method appeared, where a contract says so. */
  readonly since: ReadonlyMap<string, string>;
}

const NO_TARGET = new Target({});
const DEFAULT_VERSION = '1.0';

/** Finds the endpoint method for a request: by namespace, then version, then method and access policy (`wire.md` 5.5). */
export class RpcDispatcher {
  readonly #endpoints: readonly Registered[];

  /** @throws TypeError naming the endpoint, when a reserved attribute has the wrong type (RPC-15). */
  constructor(endpoints: readonly object[], policy: AccessPolicy = defaultAccessPolicy) {
    this.#endpoints = endpoints.map((endpoint) => register(endpoint, policy));
  }

  /** Some endpoint has a method of that name. */
  has(method: string): boolean {
    return this.#endpoints.some((endpoint) => endpoint.methods.has(method));
  }

  /**
   * The method that a request calls.
   * @throws NoSuchMethodError when an endpoint of that namespace and version exists, but no such method that may be
   * called; UnsupportedVersionError when none exists: also for an unknown namespace, and for a method of a contract
   * that is newer than the request
   */
  find(request: Pick<RpcRequest, 'method' | 'namespace' | 'version'>): EndpointMethod {
    const { method, namespace, version = DEFAULT_VERSION } = request;
    let compatible = false;
    for (const endpoint of this.#endpoints) {
      if (!endpoint.namespaces.has(namespace) || !accepts(endpoint.version, version)) continue;
      const since = endpoint.since.get(method);
      if (since !== undefined && !accepts(version, since)) continue;
      compatible = true;
      const found = endpoint.methods.get(method);
      if (found) return found;
    }
    throw compatible ? new NoSuchMethodError(method) : new UnsupportedVersionError(version, method);
  }
}

function register(endpoint: object, policy: AccessPolicy): Registered {
  const methods = collectMethods(endpoint, policy); // checks the reserved attributes
  const target = (endpoint as { target?: Target }).target ?? NO_TARGET; // a Target: collectMethods has refused all else
  return {
    namespaces: new Set(target.acceptedNamespaces),
    version: target.version ?? DEFAULT_VERSION,
    methods,
    since: methodVersions(endpoint),
  };
}

function accepts(implemented: string, requested: string): boolean {
  try {
    return isCompatible(implemented, requested);
  } catch {
    return false; // what is no version is compatible with none
  }
}
