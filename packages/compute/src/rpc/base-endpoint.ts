import { type RequestContext, Target } from '@ebbgate/core';

/** Methods of every Nova service that tell nothing of its work, so that no drain waits for them. */
export const BASE_METHODS: ReadonlySet<string> = new Set(['ping', 'get_backdoor_port']);

/** What every Nova service answers to in namespace `baseapi` 1.1: is it there? There is no backdoor. */
export function baseEndpoint(service: string): object {
  return Object.freeze({
    target: new Target({ namespace: 'baseapi', version: '1.1' }),
    ping: (_context: RequestContext, { arg }: { readonly arg?: unknown }) => ({ service, arg: arg ?? null }),
    get_backdoor_port: () => null,
  });
}
